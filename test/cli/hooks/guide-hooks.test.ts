/**
 * The three hooks of the guide, as they are written there.
 */
import { chmodSync, readFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { afterEach, describe, expect, test, vi } from "vitest";
import { finishNotifications } from "../../../src/cli/hooks/running-notifications.js";
import { verifies } from "../../verifies.js";
import { call, createHookWorld, done } from "./hook-world.js";

const page = readFileSync("docs/guide/command-hooks.md", "utf8");

/** The JSON that is followed by the script of this name, and the script. */
function readExample(script: string) {
  const blocks = [...page.matchAll(/^```(\w+)\n([\s\S]*?)^```$/gm)].map(([, language, text = ""]) => ({
    language,
    text,
  }));
  const at = blocks.findIndex(({ text }) => text.split("\n")[0]?.endsWith(script) === true);
  const hooks = blocks[at - 1]?.text ?? "";
  return { hooks, script: blocks[at]?.text ?? "" };
}

/** A folder whose programs come first: they keep their arguments in files of their own. */
function createGuideWorld(files: Readonly<Record<string, string>>, programs: Readonly<Record<string, string>>) {
  const world = createHookWorld(files);
  for (const [name, text] of Object.entries(programs)) {
    world.write(`bin/${name}`, `#!/bin/sh\n${text}\n`);
    chmodSync(join(world.base, "bin", name), 0o755);
  }
  vi.stubEnv("PATH", `${join(world.base, "bin")}${delimiter}${process.env.PATH ?? ""}`);
  if (world.readTrust().files.length > 0) world.trust();
  return world;
}

afterEach(() => vi.unstubAllEnvs());

describe("The hook of the guide", verifies("CHAT-6#guide"), () => {
  test("formats each file that was written, and says so", async () => {
    const { hooks, script } = readExample("format.mjs");
    const world = createGuideWorld(
      { "root/.pawl/hooks.json": hooks, "root/.pawl/hooks/format.mjs": script },
      { npx: 'echo "$1 $2 $3" > npx.txt; echo formatted > "$4"' },
    );
    const write = (path: string) => call("write_file", { path, content: "new\n" });
    const { agent, model } = world.start([write("src/a.ts"), write("b.txt"), done], { allow: ["write_file"] });
    await agent.run("Go.");
    expect([world.read("root/src/a.ts"), world.read("root/b.txt")]).toEqual(["formatted\n", "new\n"]);
    expect(world.read("root/npx.txt")).toBe("--no prettier --write\n");
    expect(JSON.stringify(model.requests[1]?.messages)).toContain("[hook] The file was formatted.");
  });

  test("refuses changes of migrations, and says what to do instead", async () => {
    const { hooks, script } = readExample("refuse.sh");
    const world = createGuideWorld({ "root/.pawl/hooks.json": hooks, "root/.pawl/hooks/refuse.sh": script }, {});
    const write = (path: string) => call("write_file", { path, content: '"file_path":"/migrations/' });
    const steps = [write("db/migrations/1.sql"), write("db/1.sql"), done];
    const { agent, model } = world.start(steps, { allow: ["write_file"] });
    await agent.run("Go.");
    expect([world.read("root/db/migrations/1.sql"), world.read("root/db/1.sql")]).toEqual([
      null,
      '"file_path":"/migrations/',
    ]);
    expect(JSON.stringify(model.requests[1]?.messages)).toContain("Add a new one with: npm run new-migration");
  });

  test("shows a message when a call waits", async () => {
    const { hooks, script } = readExample("notify.sh");
    const world = createGuideWorld(
      { "config/pawl/hooks.json": hooks, "home/.config/pawl/notify.sh": script },
      { "notify-send": 'echo "$1: $2" > shown.txt' },
    );
    vi.stubEnv("HOME", join(world.base, "home"));
    const { agent } = world.start([call("write_file", { path: "a.txt", content: "" })]);
    expect(await agent.run("Go.")).toMatchObject({ status: "awaiting_human" });
    await finishNotifications();
    expect(world.read("root/shown.txt")).toMatch(/^Pawl waits for you: .*write_file/);
  });
});
