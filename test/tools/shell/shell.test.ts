import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { certificateVariables } from "../../../src/tools/sandbox/environment.js";
import { detectSandbox } from "../../../src/tools/sandbox/sandbox.js";
import { createCappedOutput } from "../../../src/tools/shell/capped-output.js";
import { createShellTool, type ShellToolOptions } from "../../../src/tools/shell/shell.js";
import { verifies } from "../../verifies.js";
import { createTempFolder, runTool } from "../folder.js";

/** No editor and no pager waits for a person. */
const unattended = {
  EDITOR: "true",
  VISUAL: "true",
  GIT_EDITOR: "true",
  GIT_SEQUENCE_EDITOR: "true",
  PAGER: "cat",
  GIT_PAGER: "cat",
  MANPAGER: "cat",
  SYSTEMD_PAGER: "cat",
  AWS_PAGER: "cat",
  TERM: "dumb",
  GIT_TERMINAL_PROMPT: "0",
  DEBIAN_FRONTEND: "noninteractive",
};

function run(command: string, options: Partial<ShellToolOptions> = {}, signal?: AbortSignal): Promise<string> {
  const root = options.root ?? createTempFolder();
  const tool = createShellTool({ sandbox: "off", killGraceMs: 100, ...options, root });
  return runTool([tool], "shell", { command }, signal);
}

/** Runs until the command has made its file, then aborts. */
async function abortWhenReady(command: string, options: Partial<ShellToolOptions> = {}) {
  const root = createTempFolder();
  const controller = new AbortController();
  const running = run(command, { root, ...options }, controller.signal);
  await vi.waitFor(() => expect(existsSync(join(root, "ready"))).toBe(true));
  controller.abort();
  return { result: await running, root };
}

/** Whether a process exists that has not ended; one that nobody has waited for yet has. */
function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, "utf8"));
  } catch {
    return false;
  }
}

async function expectGone(pidFile: string): Promise<void> {
  const pid = Number(readFileSync(pidFile, "utf8"));
  expect(pid).toBeGreaterThan(1);
  await vi.waitFor(() => expect(isAlive(pid)).toBe(false));
}

describe("what a command gives", () => {
  const cases: readonly [what: string, command: string, result: string | RegExp][] = [
    ["output", "echo hello; echo world", "hello\nworld\n(exit code 0; not sandboxed)"],
    ["both outputs", "echo out; echo err >&2; exit 3", "out\nerr\n(exit code 3; not sandboxed)"],
    ["none", "true", "(no output)\n(exit code 0; not sandboxed)"],
    ["a signal", "kill -KILL $$", "(no output)\n(killed by SIGKILL; not sandboxed)"],
    ["no input to wait for", "cat; read line || echo nothing", "nothing\n(exit code 0; not sandboxed)"],
    ["bytes that are no text", "printf 'a\\377\\000b'", "a\ufffd\u0000b\n(exit code 0; not sandboxed)"],
    ["a command that does not exist", "no-such-command-here", /not found\n\(exit code 127; not sandboxed\)$/],
    ["quotes as they are", `printf '%s' "a  'b'  $((1 + 1))"`, "a  'b'  2\n(exit code 0; not sandboxed)"],
    ["the folder", 'test "$PWD" = "$(pwd -P)" && ls', "(no output)\n(exit code 0; not sandboxed)"],
    ["an error for a NUL", "echo \0", "Error: The command contains a NUL character."],
    ["an error for nothing", "", /^Error: command: /],
  ];
  test.each(cases)("%s", verifies("SEC-7"), async (_what, command, result) => {
    const said = await run(command);
    if (typeof result === "string") expect(said).toBe(result);
    else expect(said).toMatch(result);
  });

  test("an environment without this process's secrets", verifies("SEC-7"), async () => {
    vi.stubEnv("PAWL_TEST_SECRET", "secret-value");
    onTestFinished(() => void vi.unstubAllEnvs());
    const said = await run("env", { env: { GIVEN: "yes" } });
    for (const [name, value] of Object.entries(unattended)) expect(said).toContain(`${name}=${value}\n`);
    expect(said).toContain("GIVEN=yes");
    expect(said).toMatch(/^PATH=/m);
    expect(said).not.toContain("secret-value");
    const names = said
      .split("\n")
      .filter((line) => line.includes("="))
      .map((line) => line.split("=")[0]);
    const known = [
      "PATH",
      "HOME",
      "USER",
      "LOGNAME",
      "SHELL",
      "LANG",
      "LC_ALL",
      "LC_CTYPE",
      "TZ",
      "TMPDIR",
      ...certificateVariables,
      "GIVEN",
      ...Object.keys(unattended),
      "PAWL_COMMAND",
      "PWD",
      "OLDPWD",
      "SHLVL",
      "_",
    ];
    expect(names.filter((name) => !known.includes(name ?? ""))).toEqual([]);
  });

  test("the beginning and the end of 30 MB", verifies("SEC-7"), async () => {
    const said = await run("echo first; head -c 30000000 /dev/zero | tr '\\0' x; echo; echo last", {
      maxOutputBytes: 2000,
    });
    expect(said).toMatch(
      /^first\nx+\n\[… 29998012 bytes left out …\]\nx+\nlast\n\(exit code 0; not sandboxed; 29998012 bytes of the output were not kept\)$/,
    );
    expect(said.length).toBeLessThan(2250);
  });
});

describe.runIf(existsSync("/bin/bash"))("a command line is one of bash:", () => {
  const lines: readonly [title: string, command: string, output: string][] = [
    ["a range in braces", "echo {1..3}", "1 2 3"],
    ["a test in double brackets", '[[ abc == a* && 1 -lt 2 ]] && echo "is so"', "is so"],
    ["source", "echo 'x=read' > lib.sh; source ./lib.sh; echo $x", "read"],
    ["arrays", "a=(one two); a+=(three); declare -p a", 'declare -a a=([0]="one" [1]="two" [2]="three")'],
    ["a here-string and a substitution of processes", "cat <<< here; cat <(echo there)", "here\nthere"],
  ];
  test.each(lines)("%s", verifies("SEC-7"), async (_title, command, output) => {
    expect(await run(command)).toBe(`${output}\n(exit code 0; not sandboxed)`);
  });

  test("a pipe fails with its first command after set -o pipefail", verifies("SEC-7"), async () => {
    expect(await run("set -o pipefail; false | cat")).toBe("(no output)\n(exit code 1; not sandboxed)");
  });

  test("&> writes both outputs to a file, and waits for the command", verifies("SEC-7"), async () => {
    const root = createTempFolder();
    const said = await run("{ sleep 0.1; echo out; echo err >&2; exit 4; } &> log", { root });
    expect(said).toBe("(no output)\n(exit code 4; not sandboxed)");
    expect(readFileSync(join(root, "log"), "utf8")).toBe("out\nerr\n");
  });
});

describe("the output of a command", () => {
  test("has both streams in the order in which they were written", verifies("SEC-7"), async () => {
    const said = await run("for i in $(seq 300); do echo out $i; echo err $i >&2; done");
    const wanted = Array.from({ length: 300 }, (_, index) => `out ${index + 1}\nerr ${index + 1}\n`).join("");
    expect(said).toBe(`${wanted}(exit code 0; not sandboxed)`);
  });

  test("also has what is written to /dev/stderr and /dev/stdout by name", verifies("SEC-7"), async () => {
    const said = await run("echo a > /dev/stderr; echo b | tee /dev/stderr; echo c > /dev/stdout");
    expect(said).toBe("a\nb\nb\nc\n(exit code 0; not sandboxed)");
  });

  test("comes through sockets if no pipe can be made", verifies("SEC-7"), async () => {
    const root = createTempFolder();
    vi.stubEnv("TMPDIR", "/no/such/folder");
    onTestFinished(() => void vi.unstubAllEnvs());
    expect(await run("echo out; sleep 0.1; echo err >&2; exit 3", { root })).toBe(
      "out\nerr\n(exit code 3; not sandboxed)",
    );
  });

  const plain: readonly [title: string, printed: string, shown: string][] = [
    ["no colours", "\\033[1;31mred\\033[0m and \\033[38;5;200mpink\\033[m\\n", "red and pink\n"],
    ["no titles and links", "\\033]0;title\\007a \\033]8;;http://x\\033\\\\link\\033]8;;\\033\\\\ b\\n", "a link b\n"],
    ["no other sequences", "\\033(Ba\\0337b\\033=c\\033[?25ld\\n", "abcd\n"],
    ["only the last state of a line that was overwritten", "10%%\\r50%%\\r100%%\\ndone\\n", "100%\ndone\n"],
    ["only the last state of a line that was erased", "busy\\033[2K\\033[1Gready\\n", "ready\n"],
    ["what a bare return at the end leaves", "abc\\r", "abc\n"],
    ["line ends of other systems", "a\\r\\nb\\r\\n", "a\r\nb\r\n"],
    ["no overstruck characters", "b\\bbo\\bol\\bld é\\b_\\n", "bold _\n"],
  ];
  test.each(plain)("has %s", verifies("SEC-7"), async (_title, printed, shown) => {
    expect(await run(`printf '${printed}'`)).toBe(`${shown}(exit code 0; not sandboxed)`);
  });

  test("says how many lines of it were not kept", verifies("SEC-7"), async () => {
    const said = await run("seq 1000000", { maxOutputBytes: 2000 });
    const kept = said.split("\n").filter((line) => /^\d+$/.test(line)).length;
    const [, lines, bytes] = /^\[… (\d+) lines \((\d+) bytes\) left out …\]$/m.exec(said) ?? [];
    // The two lines that are cut are shown in part.
    expect(Math.abs(Number(lines) + kept - 1_000_000)).toBeLessThanOrEqual(2);
    expect(said).toContain(`(exit code 0; not sandboxed; ${lines} lines (${bytes} bytes) of the output were not kept)`);
  });
});

describe("nothing waits for a person:", () => {
  const git = "git -c user.name=a -c user.email=a@b -c init.defaultBranch=main";

  test("git rebase -i and git commit --amend keep the texts as they are", verifies("SEC-7"), async () => {
    const said = await run(
      `${git} init -q . && for i in 1 2 3; do ${git} commit -q --allow-empty -m "commit $i"; done &&
       ${git} rebase -q -i --keep-empty HEAD~2 && ${git} commit -q --amend --allow-empty && ${git} log --format=%s`,
      { timeoutMs: 20_000 },
    );
    expect(said).toBe("commit 3\ncommit 2\ncommit 1\n(exit code 0; not sandboxed)");
  });

  test("git log shows all of it", verifies("SEC-7"), async () => {
    const said = await run(
      `${git} init -q . && for i in $(seq 60); do ${git} commit -q --allow-empty -m "c$i"; done; ${git} --paginate log --format=%s`,
      { timeoutMs: 20_000 },
    );
    expect(said).toMatch(/^c60\n(.*\n)+c1\n\(exit code 0; not sandboxed\)$/);
  });

  test(
    "a program that reads from its standard error, as vim does, sees that it cannot",
    verifies("SEC-7"),
    async () => {
      expect(await run("cat <&2", { timeoutMs: 20_000 })).toMatch(/\(exit code [1-9]\d*; not sandboxed\)$/);
    },
  );
});

describe("a command that is stopped", () => {
  test("by its time, with what it said until then", verifies("SEC-7"), async () => {
    const said = await run("echo begun; sleep 1000", { timeoutMs: 300 });
    expect(said).toMatch(
      /^Error: The command was stopped after 300 ms; not sandboxed\. Output so far:\n(begun|\(no output\))$/,
    );
  });

  test("by an abort, with its grandchildren", verifies("SEC-7"), async () => {
    const { result, root } = await abortWhenReady("sh -c 'sleep 1000 & echo $! > pid; touch ready; wait' & wait");
    expect(result).toMatch(/^Error: The command was aborted; not sandboxed/);
    await expectGone(join(root, "pid"));
  });

  test("though it ignores SIGTERM", verifies("SEC-7"), async () => {
    const { result, root } = await abortWhenReady(
      "trap '' TERM; echo $$ > pid; touch ready; while :; do sleep 0.05; done",
    );
    expect(result).toMatch(/^Error: The command was aborted/);
    await expectGone(join(root, "pid"));
  });

  test("before it began", verifies("SEC-7"), async () => {
    const root = createTempFolder();
    expect(await run("touch begun", { root }, AbortSignal.abort(new Error("no more")))).toBe("Error: no more");
    expect(existsSync(join(root, "begun"))).toBe(false);
  });

  test("is given time to tidy up", verifies("SEC-7"), async () => {
    const { result } = await abortWhenReady(
      "trap 'echo tidied; exit 0' TERM; touch ready; while :; do sleep 0.05; done",
      { killGraceMs: 60_000 },
    );
    // The shell may say beside it that its "sleep" was ended.
    expect(result).toMatch(/^Error: The command was aborted.*\n(?:.*\n)*tidied(?:\n|$)/);
  });
});

test("what runs in the background ends with the command", verifies("SEC-7"), async () => {
  const root = createTempFolder();
  const said = await run("sleep 1000 & echo $! > pid; echo done", { root });
  expect(said).toBe("done\n(exit code 0; not sandboxed; processes left in the background were killed)");
  await expectGone(join(root, "pid"));
});

describe("a process that has left the command's group", () => {
  const setsid = "setsid sh -c 'echo $$ > pid; touch ready; exec sleep 1000'";
  const untilReady = "while [ ! -e ready ]; do sleep 0.02; done";

  test("ends with the command", verifies("SEC-7"), async () => {
    const root = createTempFolder();
    const said = await run(`${setsid} & ${untilReady}; echo done`, { root });
    expect(said).toBe("done\n(exit code 0; not sandboxed; processes left in the background were killed)");
    await expectGone(join(root, "pid"));
  });

  test("ends though its parent has ended and it holds no output", verifies("SEC-7"), async () => {
    const root = createTempFolder();
    await run(`(${setsid} > /dev/null 2>&1 < /dev/null &) ; ${untilReady}`, { root });
    await expectGone(join(root, "pid"));
  });

  test("ends on an abort, though it ignores SIGTERM", verifies("SEC-7"), async () => {
    const { root } = await abortWhenReady(
      `setsid sh -c "trap '' TERM; echo \\$\\$ > pid; touch ready; sleep 1000; sleep 1000" & wait`,
    );
    await expectGone(join(root, "pid"));
  });

  test("is spoken of if it hid itself altogether", verifies("SEC-7"), async () => {
    const root = createTempFolder();
    const hidden = setsid.replace("setsid", 'env -i PATH="$PATH" setsid');
    const said = await run(`(${hidden} &) ; ${untilReady}; echo done`, { root });
    process.kill(Number(readFileSync(join(root, "pid"), "utf8")), "SIGKILL");
    expect(said).toContain("a process that could not be found still holds the output open, and may keep running");
  });
});

describe("when the process that runs a command is killed", () => {
  function runElsewhere(root: string, command: string) {
    const script = join(import.meta.dirname, "../../fixtures/run-command.mjs");
    const child = spawn(process.execPath, [script, root, command], { stdio: "ignore" });
    onTestFinished(() => void child.kill("SIGKILL"));
    return child;
  }

  async function waitForFiles(root: string, ...names: readonly string[]): Promise<void> {
    const isWritten = (name: string) => existsSync(join(root, name)) && readFileSync(join(root, name), "utf8") !== "";
    await vi.waitFor(() => expect(names.every(isWritten)).toBe(true));
  }

  test("its processes end", verifies("SEC-7"), async () => {
    const root = createTempFolder();
    const inner = "setsid sh -c 'echo $$ > inner; exec sleep 1000' & echo $$ > pid; sleep 1000";
    const child = runElsewhere(root, inner);
    await waitForFiles(root, "pid", "inner");
    child.kill("SIGKILL");
    await expectGone(join(root, "pid"));
    await expectGone(join(root, "inner"));
  });

  test("they end though it was killed in the moment in which the command began", verifies("SEC-7"), async () => {
    const root = createTempFolder();
    runElsewhere(root, "echo $$ > pid; kill -KILL $PPID; exec sleep 1000");
    await waitForFiles(root, "pid");
    await expectGone(join(root, "pid"));
  });
});

test("a command that is too long for the system is refused", verifies("SEC-15"), async () => {
  expect(await run("x".repeat(100_001))).toMatch(/^Error: command: /);
  expect(await run(`: ${"é".repeat(99_000)}`)).toMatch(/^Error: The command has over 131071 bytes/);
});

describe("the tool", () => {
  test("asks before each command, and says whether it is sandboxed", verifies("SEC-7"), () => {
    const tool = createShellTool({ root: createTempFolder(), sandbox: "off", timeoutMs: 5000 });
    expect(tool).toMatchObject({ name: "shell", needsApproval: true, timeoutMs: 17_000 });
    expect(tool.readOnly).toBeUndefined();
    expect(tool.description).toContain("It is not sandboxed. The time limit is 5 seconds");
    const usual = createShellTool({ root: createTempFolder() });
    expect(usual.description).toContain(detectSandbox() === "none" ? "It is not sandboxed." : "It is sandboxed:");
  });

  test("takes less time where the model asks for less, and never more", verifies("SEC-7"), async () => {
    const tool = createShellTool({ root: createTempFolder(), sandbox: "off", killGraceMs: 100, timeoutMs: 60_000 });
    expect(await runTool([tool], "shell", { command: "sleep 1000", timeoutMs: 100 })).toContain("stopped after 100 ms");
    expect(await runTool([tool], "shell", { command: "true", timeoutMs: 60_001 })).toMatch(/^Error: timeoutMs: /);
  });

  test("runs in the sandbox where there is one, and the same without", verifies("SEC-7"), async () => {
    const root = createTempFolder({ "a.txt": "inside\n" });
    const said = await run("cat a.txt && echo more > b.txt && cat b.txt", { root, sandbox: "auto" });
    expect(said).toMatch(/^inside\nmore\n\(exit code 0/);
    expect(said.includes("not sandboxed")).toBe(detectSandbox() === "none");
  });
});

describe.runIf(detectSandbox() === "bubblewrap")("a command in the sandbox, also as root", () => {
  /** A folder that the user can write and that the sandbox must not: outside of the root, and of its own /tmp. */
  function createOutside(): string {
    const outside = mkdtempSync(join(homedir(), ".pawl-outside-"));
    onTestFinished(() => rmSync(outside, { recursive: true, force: true }));
    return outside;
  }

  const escapes: readonly [title: string, command: string][] = [
    ["writes outside of its root", "true"],
    ["mounts the system writable again", "mount -o remount,rw,bind /"],
    ["mounts its /proc writable again", "mount -o remount,rw /proc"],
    ["does so in a user namespace of its own", "unshare --user --map-root-user --mount mount -o remount,rw,bind /"],
    ["takes the system's mounts off", "umount -l /"],
  ];
  test.each(escapes)("never %s", verifies("SEC-7"), async (_title, command) => {
    const outside = createOutside();
    const said = await run(`${command}; echo x > '${outside}/written' && echo escaped`, { sandbox: "auto" });
    expect(said).not.toMatch(/^escaped/m);
    expect(said).not.toContain("not sandboxed");
    expect(existsSync(join(outside, "written"))).toBe(false);
  });

  test(
    "cannot change the kernel's settings, which could name a program to run outside",
    verifies("SEC-7"),
    async () => {
      // It writes what is there, so that nothing changes if it can.
      const file = "/proc/sys/kernel/core_pattern";
      const said = await run(`now=$(cat ${file}); echo "$now" > ${file} && echo written`, { sandbox: "auto" });
      expect(said).not.toMatch(/^written/m);
      const writable = await run("find /proc /sys -type f -writable -not -path '/proc/[0-9]*'", { sandbox: "auto" });
      expect(writable).toBe("(no output)\n(exit code 0)");
    },
  );

  test("makes no device, and has no capability", verifies("SEC-7"), async () => {
    expect(await run("mknod disk b 8 0 && echo made", { sandbox: "auto" })).not.toMatch(/^made/m);
    const capabilities = await run("grep ^Cap /proc/self/status", { sandbox: "auto" });
    expect(capabilities).toMatch(/^CapPrm:\s+0+$/m);
    expect(capabilities).toMatch(/^CapEff:\s+0+$/m);
  });
});

describe("createPlainOutput", () => {
  const pieceOf = fc.oneof(
    fc.constantFrom(
      "\x1b[31m",
      "\x1b]0;t\x07",
      "\x1b[2K",
      "\r",
      "\n",
      "\r\n",
      "\b",
      "\x1b(B",
      "\x1b",
      "\x1b[",
      "\x1b]8;;",
    ),
    fc.string({ unit: "grapheme", maxLength: 12 }),
  );
  const plainOf = (chunks: readonly Uint8Array[]) => {
    const output = createCappedOutput(1_000_000);
    for (const chunk of chunks) output.add(chunk);
    return output.text();
  };

  test("gives the same however the output arrives, and keeps no sequence", verifies("SEC-7"), () => {
    fc.assert(
      fc.property(fc.array(pieceOf), fc.integer({ min: 1, max: 7 }), (pieces, size) => {
        const bytes = Buffer.from(pieces.join(""));
        const chunks = Array.from({ length: Math.ceil(bytes.length / size) }, (_, at) =>
          bytes.subarray(at * size, (at + 1) * size),
        );
        const whole = plainOf([bytes]);
        expect(plainOf(chunks)).toBe(whole);
        expect(whole).not.toContain("\x1b");
        expect(whole).not.toContain("\b");
      }),
      { numRuns: 500 },
    );
  });

  test("is linear and bounded for a line, a sequence and returns without end", verifies("SEC-15"), () => {
    for (const unit of ["x", "\x1b[1", "\x1b]0;", "50%\r", "\b\b", "é\b", "\x1b\x1b"]) {
      const chunk = Buffer.from(unit.repeat(20_000));
      const output = createCappedOutput(1_000);
      for (let round = 0; round < 100; round += 1) output.add(chunk);
      expect(output.text().length).toBeLessThan(1_200);
    }
  });
});

describe("createCappedOutput", () => {
  test("gives all of it where it fits, and never cuts a character", verifies("SEC-7"), () => {
    fc.assert(
      fc.property(
        fc.array(fc.string({ unit: "grapheme", maxLength: 30 })),
        fc.integer({ min: 2, max: 60 }),
        (chunks, maxBytes) => {
          const output = createCappedOutput(maxBytes);
          const text = chunks.join("");
          for (const chunk of chunks) output.add(Buffer.from(chunk));
          const kept = output.text();
          if (Buffer.byteLength(text) <= 2 * Math.floor(maxBytes / 2)) expect(kept).toBe(text);
          else {
            const [head = "", tail = ""] = kept.split(/\n\[… (?:\d+ lines \()?\d+ bytes\)? left out …\]\n/u);
            expect(text.startsWith(head) && text.endsWith(tail)).toBe(true);
            expect(Buffer.byteLength(head + tail)).toBeLessThanOrEqual(maxBytes);
          }
        },
      ),
      { numRuns: 500 },
    );
  });
});
