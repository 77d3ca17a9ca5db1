/**
 * What the commands of a session share, what one leaves for the next, and what is left when Pawl ends.
 */
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { type CommandSandbox, detectSandbox } from "../../../src/tools/sandbox/sandbox.js";
import { verifies } from "../../verifies.js";
import { createToolContext } from "../folder.js";
import { findProcessesWith } from "./left-processes.js";
import { createMachine, writeFiles } from "./machine.js";

const git = (folder: string, ...args: readonly string[]) =>
  execFileSync(
    "git",
    ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "init.defaultBranch=main", "-C", folder, ...args],
    {
      encoding: "utf8",
    },
  );

/** A server of this machine at an address that commands may be allowed to reach. */
async function startServer(): Promise<string> {
  const server = createServer((request, response) => response.end(`hello from ${request.headers.host}`));
  server.listen(0, "127.0.0.2");
  await once(server, "listening");
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  return `127.0.0.2:${(server.address() as AddressInfo).port}`;
}

describe.runIf(detectSandbox() === "bubblewrap")("commands of a session", () => {
  test(
    "share /tmp, a home and a network, which other folders and the host do not have",
    verifies("BOX-5"),
    async () => {
      const machine = createMachine({ "index.html": "served inside\n" });
      const { run, background } = machine.open();
      expect(await run("echo kept > /tmp/a; echo kept > ~/b; mkdir -p /var/tmp/c")).toMatch(/exit code 0\)$/);
      expect(await run("cat /tmp/a ~/b; ls -d /var/tmp/c")).toBe("kept\nkept\n/var/tmp/c\n(exit code 0)");
      const serve = "python3 -u -m http.server 8123 --bind 127.0.0.1";
      expect(await run({ command: serve, background: true })).toContain("Started in the background");
      const fetched = await run("for n in $(seq 100); do curl -sf http://localhost:8123/ && break; sleep 0.1; done");
      expect(fetched).toBe("served inside\n(exit code 0)");
      await expect(fetch("http://127.0.0.1:8123/")).rejects.toThrow();
      expect(background.list()).toMatchObject([{ ended: null }]);

      const other = join(machine.home, "work/other");
      mkdirSync(other);
      const elsewhere = machine.open({ root: other });
      expect(await elsewhere.run("ls -A /tmp ~; curl -s http://localhost:8123/ || echo none")).toMatch(
        /none\n\(exit code 0\)$/,
      );
      // The home is kept for the next session, and /tmp is not.
      const next = machine.open();
      expect(await next.run("cat ~/b; ls /tmp/a || echo gone")).toMatch(/^kept\n.*\ngone\n/);
    },
  );

  test("reach a host that one command was given in this command alone", verifies("BOX-2"), async () => {
    const host = await startServer();
    const { run } = createMachine().open({ addresses: ["127.0.0.2"] });
    const get = `curl -sS -m 5 http://${host}/`;
    const refused = `The sandbox refuses ${host}: it is not in the list of hosts.\n(exit code 0; the sandbox refused ${host})`;
    expect(await run(get)).toBe(refused);
    expect(await run({ command: `${get}; env | grep ^HTTPS_PROXY > /tmp/proxy`, hosts: [host] })).toBe(
      `hello from ${host}\n(exit code 0)`,
    );
    expect(await run(get)).toBe(refused);
    // The credentials of the other command are of no use by now.
    expect(await run(`. /tmp/proxy; curl -sS -m 5 --proxy "$HTTPS_PROXY" http://${host}/`)).toContain("refuses");
  });

  test(
    "do not reach a private address by a name, nor a host that the author decides against",
    verifies("BOX-2"),
    async () => {
      const host = await startServer();
      const { run } = createMachine().open(
        { hosts: [host, "localhost:9", "no-such-host.invalid"], addresses: ["127.0.0.2"] },
        { decideHost: ({ port }) => (port === 9 ? undefined : port === 443 ? undefined : "deny") },
      );
      expect(await run(`curl -sS -m 5 http://${host}/`)).toContain(`the sandbox refused ${host})`);
      expect(await run("curl -sS -m 5 --noproxy '' http://localhost:9/")).toContain(
        "the sandbox refused localhost:9: it resolves to a private address)",
      );
      expect(await run("curl -sS -m 9 https://no-such-host.invalid/")).toContain("there is no such host");
      expect(await run("python3 -c 'import socket; socket.getaddrinfo(\"example.org\", 80)'")).toContain(
        "the sandbox has no name server: only programs that use HTTPS_PROXY can reach hosts",
      );
    },
  );

  test(
    "outside of the sandbox have the person's home, and no programs of the folder in PATH",
    verifies("BOX-3"),
    async () => {
      const machine = createMachine({ "node_modules/.bin/git": "#!/bin/sh\necho hijacked\n" });
      execFileSync("chmod", ["+x", join(machine.root, "node_modules/.bin/git")]);
      writeFiles(machine.home, { ".netrc": "of the person\n" });
      vi.stubEnv("PATH", `${join(machine.root, "node_modules/.bin")}:${process.env.PATH}`);
      const { run } = machine.open();
      expect(await run({ command: "cat ~/.netrc; git --version", outside: true, why: "x" })).toMatch(
        /^of the person\ngit version .*\n\(exit code 0; outside of the sandbox\)$/,
      );
      expect(await run("cat ~/.netrc || git --version")).toMatch(/hijacked\n\(exit code 0\)$/);
    },
  );
});

describe.runIf(detectSandbox() === "bubblewrap")("on a machine that lacks a program", () => {
  const script = fileURLToPath(new URL("../../fixtures/run-in-sandbox.mjs", import.meta.url));

  /** Runs commands where a program cannot be run: something else is mounted in its place. */
  async function runElsewhere(program: string, hosts: readonly string[], commands: readonly string[]) {
    const { home, root } = createMachine();
    const paths = execFileSync("which", ["-a", program], { encoding: "utf8" }).trim().split("\n");
    const args = ["--dev-bind", "/", "/", ...paths.flatMap((path) => ["--ro-bind", "/dev/null", path])];
    const child = spawn("bwrap", [...args, process.execPath, script], {
      stdio: ["pipe", "pipe", "inherit"],
      env: { ...process.env, HOME: home },
    });
    child.stdin.end(
      JSON.stringify({ root, home, without: "nothing", commands, sandbox: { hosts, addresses: ["127.0.0.2"] } }),
    );
    return JSON.parse(await text(child.stdout)) as {
      readonly results: readonly string[];
      readonly describe: readonly string[];
    };
  }

  test("nsenter, each command has its own network and /tmp", verifies("BOX-4", "BOX-5"), async () => {
    const host = await startServer();
    const commands = [`echo x > /tmp/x; curl -sS -m 5 http://${host}/`, "ls /tmp/x || curl -sS http://other.test/"];
    const { describe, results } = await runElsewhere("nsenter", [host], commands);
    expect(describe[0]).toContain(
      "each command has its own network and /tmp, because nsenter (util-linux) is not installed",
    );
    expect(results).toEqual([
      `hello from ${host}\n(exit code 0)`,
      expect.stringContaining("the sandbox refused other.test:80"),
    ]);
  });

  test("the option of bubblewrap 0.8, a filter closes user namespaces", verifies("BOX-1", "BOX-4"), async () => {
    const machine = createMachine();
    writeFiles(machine.home, { ".netrc": "CANARY\n" });
    const real = execFileSync("which", ["bwrap"], { encoding: "utf8" }).trim();
    const folder = join(machine.base, "old");
    writeFiles(folder, {
      bwrap: `#!/bin/sh
[ "$1" = --version ] && echo bubblewrap 0.7.0 && exit
case " $* " in *" --disable-userns "*) echo "bwrap: Unknown option --disable-userns" >&2; exit 1;; esac
exec ${real} "$@"
`,
    });
    chmodSync(join(folder, "bwrap"), 0o755);
    vi.stubEnv("PATH", `${folder}:${process.env.PATH}`);
    const { sandbox, run } = machine.open();
    expect(sandbox.describe()[0]).toMatch(
      /^bubblewrap 0\.7\.0; .*user namespaces are closed by a filter, because bubblewrap is older than 0\.8$/,
    );
    expect(await run("unshare --user true && echo escaped; echo works")).toMatch(
      /not permitted[\s\S]*works\n\(exit code 0\)$/,
    );
    expect(await run(`cat ${machine.home}/.netrc || echo none`)).toMatch(/none\n\(exit code 0\)$/);
  });

  test("socat, Node leads commands to the proxy", verifies("BOX-4"), async () => {
    const host = await startServer();
    const { describe, results } = await runElsewhere("socat", [host], [`curl -sS -m 5 http://${host}/`]);
    expect(describe[0]).toContain("commands share a network (through node) and /tmp");
    expect(results).toEqual([`hello from ${host}\n(exit code 0)`]);
  });
});

describe.runIf(detectSandbox() === "bubblewrap")("what one command prepares for the next:", () => {
  test("a file that other programs run is told, and closed from then on", verifies("BOX-1"), async () => {
    const { run } = createMachine().open();
    expect(await run("mkdir .vscode; echo '{}' > .vscode/tasks.json")).toBe(
      "(no output)\n(exit code 0; the command created or changed .vscode, which other programs may run)",
    );
    expect(await run("echo x >> .vscode/tasks.json")).toMatch(/Read-only file system\n\(exit code 1\)$/);
    expect(await run("git init -q . && ln -s /tmp .idea")).toContain(
      "the command created or changed .git, which other programs may run; the command created or changed .idea",
    );
    expect(await run("echo x > .git/hooks/pre-commit")).toMatch(/Read-only file system\n\(exit code 1\)$/);
  });

  test(
    "other settings for a repository are removed at once, and the command is stopped",
    verifies("BOX-1"),
    async () => {
      const machine = createMachine({ "a.txt": "a\n" });
      git(machine.root, "init", "-q");
      const { run } = machine.open();
      const file = join(machine.root, ".git/commondir");
      const said = await run("mkdir evil; echo ../evil > .git/commondir; sleep 30; echo ran on");
      expect(said).toContain("the command created .git/commondir, which was removed");
      expect(said).not.toContain("ran on\n");
      expect(existsSync(file)).toBe(false);
    },
  );

  test(
    "repositories below the folder are closed, and those that a command creates are told once",
    verifies("BOX-1"),
    async () => {
      const machine = createMachine({ "vendor/lib/a.txt": "a\n" });
      const embedded = join(machine.root, "vendor/lib");
      git(embedded, "init", "-q");
      git(embedded, "add", ".");
      git(embedded, "commit", "-qm", "first");
      // A program that Git would run outside, where this file shows it.
      const canary = join(machine.base, "canary");
      const { run } = machine.open();
      const plant = (repository: string) =>
        `git -C ${repository} config core.fsmonitor "touch ${canary}; false"; echo "touch ${canary}" > ${repository}/.git/hooks/post-commit; chmod +x ${repository}/.git/hooks/post-commit`;
      expect(await run(plant("vendor/lib"))).toContain("Read-only file system");
      expect(await run("mv vendor/lib/.git vendor/lib/old; git init -q vendor/lib; mv vendor v")).toContain("busy");
      expect(await run("echo ../../evil > vendor/lib/.git/commondir; sleep 30; echo ran on")).toMatch(
        /the command created vendor\/lib\/\.git\/commondir, which was removed/,
      );
      expect(
        await run(
          "cd vendor/lib && echo b > b.txt && git add b.txt && git -c user.name=a -c user.email=a@b commit -qm second",
        ),
      ).toBe("(no output)\n(exit code 0)");
      git(embedded, "status");
      git(embedded, "commit", "--allow-empty", "-qm", "third");
      expect(existsSync(canary)).toBe(false);

      const created = "the command created deep/er/.git, whose settings can name programs that Git runs";
      expect(await run(`git init -q deep/er; ${plant("deep/er")}`)).toBe(`(no output)\n(exit code 0; ${created})`);
      expect(await run("touch deep/er/x; mv deep moved; rm -rf moved")).toBe("(no output)\n(exit code 0)");
    },
  );

  test("a command in the background is stopped when it creates what Git would take settings from", async () => {
    const machine = createMachine();
    git(machine.root, "init", "-q");
    const { run, background } = machine.open();
    await run({ command: "echo ../other > .git/commondir; sleep 600", background: true });
    await vi.waitFor(() => expect(background.list()).toMatchObject([{ ended: "stopped" }]));
    const [read] = background.tools;
    expect(await read?.execute?.({ process: 1 } as never, createToolContext())).toMatch(
      /\(process 1: stopped; the command created \.git\/commondir, which was removed/,
    );
    expect(existsSync(join(machine.root, ".git/commondir"))).toBe(false);
  });

  test("a folder that a command closes against Pawl is told, and Pawl goes on", verifies("BOX-1"), async () => {
    const machine = createMachine({ "a.txt": "a\n" });
    git(machine.root, "init", "-q");
    const { run } = machine.open();
    onTestFinished(() => chmodSync(join(machine.root, ".git"), 0o755));
    expect(await run("chmod 0 .git; ls -d .git")).toContain(".git");
    chmodSync(join(machine.root, ".git"), 0o755);
    expect(await run("cat a.txt")).toContain("a\n");
  });

  test("the folder of a hidden file under another name does not show it", verifies("BOX-1"), async () => {
    const machine = createMachine({ "config/deep/secret.env": "CANARY\n", "config/other": "seen\n" });
    const hidden = join(machine.root, "config/deep/secret.env");
    const { run } = machine.open({ hide: () => [hidden] });
    await run("mv config moved; mv config/deep moved; cp -r config copied; ln config/deep/secret.env linked");
    const said = await run("cat config/other; grep -r CANARY . ; find . -type f | sort");
    expect(said).not.toContain("CANARY");
    expect(said).toContain("seen\n");
    expect(readFileSync(hidden, "utf8")).toBe("CANARY\n");
  });

  test("a repository that a worktree is led to is not written", verifies("BOX-1"), async () => {
    const machine = createMachine();
    const [mine, victim] = [join(machine.home, "mine"), join(machine.home, "victim")];
    for (const repository of [mine, victim]) {
      writeFiles(repository, { "a.txt": "CANARY\n" });
      git(repository, "init", "-q");
      git(repository, "add", ".");
      git(repository, "commit", "-qm", "first");
    }
    rmSync(machine.root, { recursive: true });
    git(mine, "worktree", "add", "-q", machine.root);
    git(victim, "worktree", "add", "-q", join(machine.home, "victim-worktree"));
    const before = machine.open();
    // The files that name the repository are closed while they are good.
    expect(await before.run(`echo ${victim}/.git > ${mine}/.git/worktrees/project/commondir`)).toContain("Read-only");
    // Even if they were changed, they have to fit the repository.
    for (const commondir of [join(victim, ".git"), join(victim, ".git/worktrees/victim-worktree")]) {
      writeFileSync(join(mine, ".git/worktrees/project/commondir"), `${commondir}\n`);
      const said = await machine.open().run(`ls ${victim}; touch ${victim}/.git/evil && echo escaped`);
      expect(said).not.toMatch(/^escaped|a\.txt/m);
    }
    writeFileSync(join(machine.root, ".git"), `gitdir: ${victim}/.git/worktrees/victim-worktree\n`);
    expect(await machine.open().run(`ls ${victim}; cat ${victim}/a.txt`)).not.toContain("CANARY");
  });

  test("a folder that becomes a link while a command is prepared is not shown", verifies("BOX-1"), async () => {
    const machine = createMachine({ ".vscode/settings.json": "{}\n" });
    git(machine.root, "init", "-q");
    writeFiles(machine.home, { ".ssh/id_rsa": "CANARY\n", ".ssh/config": "mine\n" });
    for (const name of [".vscode", ".git"]) {
      const { sandbox } = machine.open();
      const path = join(machine.root, name);
      const isSource = (arg: string, next: string | undefined) => arg === path && next === path;
      const raced: CommandSandbox = {
        ...sandbox,
        async prepare(...given) {
          const prepared = await sandbox.prepare(...given);
          // A background command makes a link of it when bubblewrap looks where it leads, and a folder again for the mount.
          const program = prepared.program.map((arg, at, all) =>
            isSource(arg, all[at + 1]) ? join(machine.home, ".ssh") : arg,
          );
          return { ...prepared, program: program as unknown as typeof prepared.program };
        },
      };
      const said = await machine.open({}, { sandbox: raced }).run(`cat ${name}/id_rsa; echo evil >> ${name}/config`);
      expect(said).toContain("The sandbox did not start this command");
      expect(said).toContain("(exit code 126)");
      expect(said).not.toContain("CANARY");
    }
    expect(readFileSync(join(machine.home, ".ssh/config"), "utf8")).toBe("mine\n");
  });

  test("pipes in the place of Git's files do not block the next command", verifies("BOX-1"), async () => {
    const machine = createMachine();
    const { run } = machine.open();
    expect(await run("mkfifo .git")).toContain("(exit code 0");
    expect(await run("rm .git; mkdir -p .git/modules/a && touch .git/modules/a/HEAD")).toContain("(exit code 0");
    expect(await run("mkfifo .git/config .git/modules/a/config")).toContain("(exit code 0");
    expect(await run("echo still here")).toContain("still here");
  });

  test(
    "so many folders that the settings of a submodule are not found start no command",
    verifies("BOX-1"),
    async () => {
      const { run } = createMachine().open();
      expect(await run("mkdir -p .git/modules/many && cd .git/modules/many && mkdir $(seq 600)")).toContain(
        "(exit code 0",
      );
      expect(await run("echo started")).toContain("more than 500 folders");
    },
  );

  test("links in its home and in /tmp lead nowhere for Pawl", verifies("BOX-1", "BOX-5"), async () => {
    const machine = createMachine({ "a.txt": "a\n" });
    writeFiles(machine.home, { ".bashrc": "mine\n" });
    const { run } = machine.open();
    await run(
      `rm -rf ~/.* ~/*; for name in .npmrc .gitconfig .config work; do ln -s ${machine.home}/.bashrc ~/$name; done`,
    );
    await run(
      `ln -s ${machine.home}/.bashrc /tmp/x; mv /tmp/* /tmp/moved; ln -s /etc /tmp/${machine.base.split("/")[2]}`,
    );
    expect(await run("cat a.txt; pwd")).toBe(`a\n${machine.root}\n(exit code 0)`);
    expect(readFileSync(join(machine.home, ".bashrc"), "utf8")).toBe("mine\n");
  });

  test("a command that races with the start of others does not open what is closed", verifies("BOX-1"), async () => {
    const machine = createMachine({ ".envrc": "true\n", "config/secret.env": "CANARY\n" });
    git(machine.root, "init", "-q");
    const hide = () => [join(machine.root, "config/secret.env")];
    const { run } = machine.open({ hide });
    const racer = `while :; do
      mv .git g; mv g .git; mv config c; mv c config; mv .envrc e; mv e .envrc; mv .git/hooks .git/h; mv .git/h .git/hooks
      mv /tmp/* /tmp/away; mv ../project ../p; mv ../p ../project; ln -sfn /etc ../../work
    done 2>/dev/null`;
    await run({ command: racer, background: true });
    for (let round = 0; round < 15; round += 1) {
      const said = await run(
        "cat config/secret.env */secret.env; echo x > .git/hooks/pre-commit; echo x > .envrc; pwd",
      );
      expect(said).not.toContain("CANARY");
      expect(said).toContain(`${machine.root}\n`);
    }
    expect(existsSync(join(machine.root, ".git/hooks/pre-commit"))).toBe(false);
    expect(readFileSync(join(machine.root, ".envrc"), "utf8")).toBe("true\n");
  });
});

describe.runIf(detectSandbox() === "bubblewrap")("the sandbox of a long session", () => {
  /** The Unix sockets of this process that a sandbox's proxy listens on. */
  function countProxies(): number {
    const own = readdirSync("/proc/self/fd").flatMap((fd) => {
      try {
        return /^socket:\[(\d+)\]$/.exec(readlinkSync(`/proc/self/fd/${fd}`))?.[1] ?? [];
      } catch {
        return [];
      }
    });
    const lines = readFileSync("/proc/net/unix", "utf8").split("\n");
    // Flag 00010000: it listens.
    return lines.filter((line) => {
      const [, , , flags, , , inode = ""] = line.split(/\s+/);
      return flags === "00010000" && line.includes("pawl-sandbox-") && own.includes(inode);
    }).length;
  }

  test("closes the proxy of a network whose process has died, and opens another", async () => {
    const { sandbox, run } = createMachine().open();
    const before = countProxies();
    const prepared = await sandbox.prepare(["true"]);
    await prepared.end();
    expect(countProxies()).toBe(before + 1);
    const holder = Number(prepared.program[prepared.program.indexOf("--target") + 1]);
    process.kill(holder, "SIGKILL");
    await vi.waitFor(() => expect(existsSync(`/proc/${holder}`)).toBe(false));
    await vi.waitFor(async () => expect(await run("echo works")).toBe("works\n(exit code 0)"));
    expect(countProxies()).toBe(before + 1);
  });

  test("gives each command a filter of its own, which it cannot change for others", async () => {
    const { sandbox } = createMachine().open();
    const first = await sandbox.prepare(["true"]);
    const bytes = [...(first.filter ?? [])];
    expect(bytes.length).toBeGreaterThan(0);
    first.filter?.fill(0);
    await first.end();
    const second = await sandbox.prepare(["true"]);
    await second.end();
    expect([...(second.filter ?? [])]).toEqual(bytes);
  });

  test("stops to prepare a command whose call is aborted", async () => {
    const { sandbox } = createMachine().open();
    const reason = new Error("no longer needed");
    await expect(sandbox.prepare(["true"], { signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
  });
});

describe.runIf(detectSandbox() === "bubblewrap")("Git in the sandbox", () => {
  const commit =
    "git add -A && git -c user.name=a -c user.email=a@b commit -qm second && git status --porcelain && git log --oneline | wc -l";

  test("commits in a repository, from a subfolder, and in a worktree", verifies("BOX-1"), async () => {
    const machine = createMachine();
    const repository = join(machine.home, "work/repository");
    writeFiles(repository, { "top.txt": "top\n", "packages/one/a.txt": "a\n" });
    git(repository, "init", "-q");
    git(repository, "add", ".");
    git(repository, "commit", "-qm", "first");
    const worktree = join(machine.home, "elsewhere/worktree");
    git(repository, "worktree", "add", "-q", worktree);
    for (const [root, count] of [
      [repository, 2],
      [join(repository, "packages/one"), 3],
      [worktree, 2],
    ] as const) {
      const { run } = machine.open({ root });
      expect(await run(`echo more >> new.txt; ${commit}`)).toBe(`${count}\n(exit code 0)`);
      expect(await run("echo x > $(git rev-parse --git-common-dir)/hooks/post-commit")).toContain("Read-only");
      expect(await run("git config user.name evil")).toContain("(exit code ");
    }
    // The rest of the repository is seen from the subfolder, and not written.
    const { run } = machine.open({ root: join(repository, "packages/one") });
    expect(await run("cat ../../top.txt; echo x > ../../top.txt || echo closed")).toMatch(/^top\n.*\nclosed\n/);
    expect(git(repository, "status", "--porcelain")).toBe("");
  });
});

describe.runIf(detectSandbox() === "bubblewrap")("when Pawl is killed", () => {
  const script = fileURLToPath(new URL("../../fixtures/run-in-sandbox.mjs", import.meta.url));

  function start(root: string, home: string, command: string): ChildProcess {
    const child = spawn(process.execPath, [script], {
      stdio: ["pipe", "ignore", "ignore"],
      env: { ...process.env, HOME: home, BOX_TEST: root },
    });
    onTestFinished(() => void child.kill("SIGKILL"));
    child.stdin?.end(JSON.stringify({ root, home, without: "nothing", commands: [command] }));
    return child;
  }

  const phases: readonly [title: string, isReached: (root: string) => boolean][] = [
    ["before the network of its commands is there", () => true],
    ["while the network of its commands starts", (root) => findProcessesWith(root).length > 1],
    ["while a command runs", (root) => existsSync(join(root, "ready"))],
  ];
  test.each(phases)("%s, nothing runs and nothing lies in the folder", verifies("BOX-5"), async (_title, isReached) => {
    const machine = createMachine({ "a.txt": "a\n" });
    git(machine.root, "init", "-q");
    symlinkSync("/tmp", join(machine.root, "link"));
    const before = readdirSync(machine.root);
    const child = start(machine.root, machine.home, "setsid sh -c 'touch ready; sleep 1000' & sleep 1000");
    await vi.waitFor(() => expect(isReached(machine.root)).toBe(true), { timeout: 20_000, interval: 2 });
    child.kill("SIGKILL");
    await vi.waitFor(() => expect(findProcessesWith(machine.root)).toEqual([]));
    expect(readdirSync(machine.root).filter((name) => name !== "ready")).toEqual(before);
    expect(readFileSync("/proc/mounts", "utf8")).not.toContain(machine.base);
  });
});
