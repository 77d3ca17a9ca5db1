import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { describe, expect, test } from "vitest";
import { createHolder, isHolderDead } from "../../src/platform/holder.js";
import { verifies } from "../verifies.js";

const hasProc = existsSync("/proc/self/stat");

describe("a holder", () => {
  test("is this process, under an id of its own", () => {
    const [a, b] = [createHolder(), createHolder()];
    expect(a.pid).toBe(process.pid);
    expect(a.id).not.toBe(b.id);
    expect({ ...a, id: "" }).toEqual({ ...b, id: "" });
  });

  test("that runs is not dead", verifies("REC-9"), () => {
    expect(isHolderDead(createHolder())).toBe(false);
  });

  test("whose process has ended is dead", verifies("REC-9"), async () => {
    const child = spawn(process.execPath, ["-e", ""]);
    await once(child, "close");
    expect(isHolderDead({ ...createHolder(), pid: child.pid ?? 0 })).toBe(true);
  });

  test("whose process id was given to another is dead, where that can be told", verifies("REC-9"), () => {
    const holder = createHolder();
    expect(isHolderDead({ ...holder, startedAt: holder.startedAt - 1 })).toBe(hasProc);
  });

  test(
    "of another boot is not known to be dead: it may be a machine of the same name",
    verifies("REC-9", "DIST-2#death"),
    () => {
      const holder = createHolder();
      const [id, , namespace] = holder.id.split(" ");
      const another = [id, "00000000-0000-0000-0000-000000000000", namespace].join(" ");
      expect(isHolderDead({ ...holder, id: another, pid: 2 ** 22 + 1 })).toBe(false);
    },
  );

  test("on another host, or in another container, is not known to be dead", verifies("REC-9"), () => {
    const holder = { ...createHolder(), pid: 2 ** 22 + 1 };
    expect(isHolderDead({ ...holder, host: `${holder.host}-other` })).toBe(false);
    const [id, boot = "boot"] = holder.id.split(" ");
    expect(isHolderDead({ ...holder, id: [id, boot, "pid:[1]"].join(" ") })).toBe(false);
  });

  test.runIf(hasProc)("that was killed is dead though nobody has collected it", verifies("REC-9"), async () => {
    // A shell that starts a child and then becomes a program that does not know of it.
    const parent = spawn("sh", ["-c", "sleep 300 & echo $!; exec sleep 300"]);
    const [line]: unknown[] = await once(createInterface({ input: parent.stdout }), "line");
    const stat = (pid: unknown): string => readFileSync(`/proc/${pid}/stat`, "utf8");
    while (!stat(parent.pid).includes("(sleep)")) await new Promise((resolve) => setImmediate(resolve));
    process.kill(Number(line), "SIGKILL");
    while (!stat(line).includes(") Z ")) await new Promise((resolve) => setImmediate(resolve));
    const startedAt = Number(stat(line).split(" ")[21]);
    expect(isHolderDead({ ...createHolder(), pid: Number(line), startedAt })).toBe(true);
    parent.kill("SIGKILL");
    await once(parent, "close");
  });
});
