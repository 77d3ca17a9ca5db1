/**
 * The parts of the sandbox that need no bubblewrap: hosts, the reasons why there is none, and the filter of system calls.
 */
import { once } from "node:events";
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { type AddressInfo, connect, createServer } from "node:net";
import { homedir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import fc from "fast-check";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { hostPresets, normalizeHost, readHostPattern } from "../../../src/tools/sandbox/hosts.js";
import { findSystemProgram, type ProbedSystem, probeSandbox } from "../../../src/tools/sandbox/probe.js";
import { startSandboxProxy } from "../../../src/tools/sandbox/proxy.js";
import { createSandbox, detectSandbox } from "../../../src/tools/sandbox/sandbox.js";
import { createSyscallFilter } from "../../../src/tools/sandbox/syscalls.js";
import { createShellTool } from "../../../src/tools/shell/shell.js";
import { verifies } from "../../verifies.js";
import { createTempFolder, runTool } from "../folder.js";
import { type Attack, attacks, attacksByAim } from "./attacks.js";

const pattern = (text: string) => {
  const read = readHostPattern(text);
  if (typeof read === "string") throw new Error(read);
  return read;
};

describe("a pattern for hosts", verifies("BOX-2"), () => {
  const allowed: readonly [pattern: string, name: string, port: number][] = [
    ["example.org", "example.org", 443],
    ["example.org", "example.org", 80],
    ["EXAMPLE.org.", "example.org", 443],
    ["*.example.org", "a.b.example.org", 443],
    ["db.example.org:5432", "db.example.org", 5432],
    ["10.1.2.3:8080", "10.1.2.3", 8080],
    ["[2001:db8::1]:443", "2001:db8::1", 443],
    ["bücher.example", "xn--bcher-kva.example", 443],
    ["npm", "registry.npmjs.org", 443],
  ];
  test.each(allowed)("%s allows %s at port %i", (text, name, port) => {
    expect(pattern(text).allows({ name, port })).toBe(true);
  });

  const refused: readonly [pattern: string, name: string, port: number][] = [
    ["example.org", "example.org", 22],
    ["example.org", "a.example.org", 443],
    ["example.org", "example.org.attacker.test", 443],
    ["example.org", "notexample.org", 443],
    ["*.example.org", "example.org", 443],
    ["*.example.org", "notexample.org", 443],
    ["db.example.org:5432", "db.example.org", 443],
    ["npm", "registry.npmjs.org", 22],
    ["npm", "npm", 443],
  ];
  test.each(refused)("%s does not allow %s at port %i", (text, name, port) => {
    expect(pattern(text).allows({ name, port })).toBe(false);
  });

  test("denies every port unless it names one", () => {
    expect(pattern("example.org").denies({ name: "example.org", port: 22 })).toBe(true);
    expect(pattern("example.org:443").denies({ name: "example.org", port: 22 })).toBe(false);
  });

  test.each([
    "",
    "*",
    "*.org",
    "https://example.org",
    "a b",
    "example.org/x",
    "u@example.org",
    "exa*mple.org",
    "localhost",
    "x:99999",
  ])("%j cannot be read", (text) => {
    expect(readHostPattern(text)).toEqual(expect.any(String));
  });

  test("covers another exactly if it allows everything that the other allows", () => {
    const part = fc.constantFrom(
      "a.test",
      "b.a.test",
      "*.a.test",
      "*.b.a.test",
      "a.test:22",
      "*.a.test:22",
      "b.a.test:443",
    );
    const names = ["a.test", "b.a.test", "c.b.a.test", "x.a.test"];
    const targets = names.flatMap((name) => [22, 80, 443].map((port) => ({ name, port })));
    fc.assert(
      fc.property(part, part, (one, other) => {
        const [first, second] = [pattern(one), pattern(other)];
        const allAllowed = targets.every((target) => !second.allows(target) || first.allows(target));
        const someDenied = targets.some((target) => second.allows(target) && first.denies(target));
        expect([one, other, first.covers(second)]).toEqual([one, other, allAllowed]);
        expect([one, other, first.deniesPartOf(second)]).toEqual([one, other, someDenied]);
      }),
    );
  });

  test("is compared with the name that the URL parser makes, whatever the spelling", () => {
    const spelling = fc.string({ unit: fc.constantFrom(..."127.0x1ffA8:[]%31@/#?\\.。-_ e"), maxLength: 24 });
    fc.assert(
      fc.property(spelling, (text) => {
        const name = normalizeHost(text);
        if (name === null) return;
        const host = name.includes(":") ? `[${name}]` : name;
        expect(new URL(`http://${host}/`).hostname).toBe(host);
        expect(normalizeHost(name)).toBe(name);
      }),
      { numRuns: 2_000 },
    );
  });

  test("has presets of names alone", () => {
    for (const name of Object.values(hostPresets).flat()) expect(normalizeHost(name)).toBe(name);
  });
});

describe("without a sandbox, the reason is said:", verifies("BOX-4"), () => {
  /** A folder in PATH with a bubblewrap that fails, or without one. */
  function systemWith(files: Readonly<Record<string, string>>): ProbedSystem {
    return {
      platform: "linux",
      read: (path) => files[path] ?? null,
      exists: (path) => Object.hasOwn(files, path),
    };
  }

  /** The usual folders of the system are avoided, so that only this program is found. */
  const usual = ["/usr", "/bin", "/sbin"];

  function failing(line: string): string {
    const folder = createTempFolder({
      bwrap: `#!/bin/sh\n[ "$1" = --version ] && echo bubblewrap 0.9.1 && exit\necho "bwrap: ${line}" >&2\nexit 1\n`,
    });
    chmodSync(join(folder, "bwrap"), 0o755);
    vi.stubEnv("PATH", folder);
    onTestFinished(() => void vi.unstubAllEnvs());
    return folder;
  }

  test.each([
    ["debian", "To install it: apt install bubblewrap socat"],
    ['"fedora"', "To install it: dnf install bubblewrap socat"],
    ["arch", "To install it: pacman -S bubblewrap socat"],
    ['unheard-of\nID_LIKE="unknown debian"', "To install it: apt install bubblewrap socat"],
    ["unheard-of", "Install the packages bubblewrap and socat."],
  ])("bubblewrap is not installed on %s", (id, advice) => {
    vi.stubEnv("PATH", createTempFolder());
    onTestFinished(() => void vi.unstubAllEnvs());
    const system = systemWith({ "/etc/os-release": `NAME=x\nID=${id}\n` });
    expect(probeSandbox(usual, system)).toEqual({ bubblewrap: null, reason: "bubblewrap is not installed", advice });
  });

  test.each([
    [{ "/.dockerenv": "" }, /^This is a container: .*seccomp=unconfined/],
    [{ "/proc/sys/kernel/apparmor_restrict_unprivileged_userns": "1\n" }, /^AppArmor .*bwrap-userns-restrict/],
    [{ "/proc/sys/kernel/unprivileged_userns_clone": "0\n" }, /sysctl -w kernel.unprivileged_userns_clone=1$/],
    [{ "/proc/sys/user/max_user_namespaces": "0\n" }, /sysctl -w user.max_user_namespaces=15000$/],
    [{}, /^$/],
  ])("the system makes no namespaces: %j", (files, advice) => {
    failing("No permissions to create new namespace, likely because the kernel does not allow it.");
    expect(probeSandbox(usual, systemWith(files))).toEqual({
      bubblewrap: null,
      reason:
        "bubblewrap 0.9.1 fails: No permissions to create new namespace, likely because the kernel does not allow it",
      advice: expect.stringMatching(advice),
    });
  });

  test.each([
    ["darwin", "there is no sandbox for macOS yet", /Linux virtual machine or dev container/],
    ["win32", "there is no sandbox for Windows yet", /WSL 2/],
    ["freebsd", "there is no sandbox for freebsd yet", /Linux/],
  ] as const)("the system is %s", (platform, reason, advice) => {
    expect(probeSandbox([], { ...systemWith({}), platform })).toEqual({
      ...{ bubblewrap: null, reason },
      advice: expect.stringMatching(advice),
    });
  });

  test("the folder is the home, or holds it; required refuses it with what to do", async () => {
    for (const root of [homedir(), "/"]) {
      expect(createSandbox({ root })).toMatchObject({
        kind: "none",
        reason: "the folder is your home, or contains it",
      });
      expect(() => createSandbox({ root, mode: "required" })).toThrow(
        expect.objectContaining({
          code: "sandbox_missing",
          message:
            "Commands cannot be sandboxed: the folder is your home, or contains it. Work in a folder below your home.",
        }),
      );
    }
    const root = createTempFolder();
    vi.stubEnv("HOME", root);
    onTestFinished(() => void vi.unstubAllEnvs());
    const said = await runTool([createShellTool({ root })], "shell", { command: "true" });
    expect(said).toBe("(no output)\n(exit code 0; not sandboxed: the folder is your home, or contains it)");
  });

  test("a bubblewrap in the folder of the commands is not one", () => {
    const root = createTempFolder();
    mkdirSync(join(root, "node_modules/.bin"), { recursive: true });
    const program = join(root, "node_modules/.bin/some-program");
    writeFileSync(program, "#!/bin/sh\n");
    chmodSync(program, 0o755);
    const path = join(root, "node_modules/.bin");
    expect(findSystemProgram("some-program", [], path)).toBe(program);
    expect(findSystemProgram("some-program", [root], path)).toBeNull();
  });
});

test.runIf(detectSandbox() === "bubblewrap")(
  "a folder to write is refused if commands could replace their own folder there",
  verifies("BOX-1"),
  () => {
    const home = createTempFolder();
    vi.stubEnv("HOME", home);
    onTestFinished(() => void vi.unstubAllEnvs());
    const root = join(home, "work/project");
    mkdirSync(root, { recursive: true });
    const write = (...paths: readonly string[]) => createSandbox({ root, write: paths, mode: "required" });
    for (const path of ["..", "~/", "/", "."])
      expect(() => write(path)).toThrow(/^Commands cannot get write access to .*: it is or contains /);
    expect(() => write("missing")).toThrow("missing: there is no such folder.");
  },
);

test("the guide's table of attacks has the numbers of the corpus", verifies("BOX-1"), () => {
  const page = readFileSync("docs/guide/sandbox.md", "utf8");
  const count = (some: readonly Attack[]) => [some.length, some.filter(({ needs }) => needs !== null).length];
  for (const [aim, some] of [...Object.entries(attacksByAim), ["**all**", attacks] as const])
    expect(page).toContain(`| ${[aim, ...count(some)].join(" | ")} |`);
});

test("options of the sandbox are checked", () => {
  const create = (options: object) => () => createSandbox({ root: createTempFolder(), ...options });
  expect(create({ hosts: [5] })).toThrow("must be an array of non-empty strings");
  expect(create({ show: "~/.npmrc" })).toThrow("must be an array of non-empty strings");
  expect(create({ allowedHosts: [] })).toThrow("hosts");
  expect(create({ hosts: ["*"] })).toThrow('Invalid host "*"');
});

test("a body without a length cannot hold a second request", verifies("BOX-2"), async () => {
  const received: string[] = [];
  const server = createServer((socket) => {
    socket.on("data", (bytes) => {
      received.push(String(bytes));
      if (received.join("").includes("GET /second")) socket.end("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n");
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const path = join(createTempFolder(), "proxy");
  const proxy = await startSandboxProxy({
    ...{ path, isReachable: () => true, addresses: ["127.0.0.1"], environment: {} },
  });
  const client = connect(path);
  onTestFinished(async () => {
    client.destroy();
    await proxy.close();
    server.close();
  });
  const second = "GET /second HTTP/1.1\r\nhost: other.test\r\n\r\n";
  const head = `GET http://127.0.0.1:${port}/first HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n`;
  client.write(`${head}${second.length.toString(16)}\r\n${second}\r\n0\r\n\r\n`);
  await once(client, "data");
  // It arrives as a part of the first one's body.
  expect(received.join("")).toContain(`\r\n\r\n${second.length.toString(16)}\r\n${second}`);
});

test("a host that sends an invalid answer costs the request, and not the process", verifies("BOX-2"), async () => {
  const heads = ["HTTP/1.1 099 Odd", "HTTP/1.1 000 None", "HTTP/1.1 101 Other\r\nupgrade: x\r\nconnection: upgrade"];
  const server = createServer((socket) => {
    socket.on("error", () => {});
    socket.once("data", () => socket.end(`${heads.shift()}\r\ncontent-length: 0\r\n\r\n`));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const path = join(createTempFolder(), "proxy");
  const proxy = await startSandboxProxy({
    ...{ path, isReachable: () => true, addresses: ["127.0.0.1"], environment: {} },
  });
  onTestFinished(async () => {
    await proxy.close();
    server.close();
  });
  for (const _ of [...heads]) {
    const client = connect(path);
    client.write(`GET http://127.0.0.1:${port}/ HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n`);
    const [answer] = await once(client, "data");
    expect(String(answer)).toMatch(/^HTTP\/1\.1 502 /);
    client.destroy();
  }
});

test("the connections of a command end with its access to hosts", verifies("BOX-2"), async () => {
  const server = createServer((socket) => {
    socket.on("error", () => {});
    socket.once("data", () => socket.write("HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nbegin"));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const path = join(createTempFolder(), "proxy");
  const proxy = await startSandboxProxy({
    ...{ path, isReachable: () => false, addresses: ["127.0.0.1"], environment: {} },
  });
  onTestFinished(async () => {
    await proxy.close();
    server.close();
  });
  const grant = proxy.grant(() => true);
  const client = connect(path);
  const authorization = `proxy-authorization: Basic ${Buffer.from(grant.credentials).toString("base64")}`;
  client.write(`GET http://127.0.0.1:${port}/ HTTP/1.1\r\nhost: x\r\n${authorization}\r\n\r\n`);
  const [answer] = await once(client, "data");
  expect(String(answer)).toContain("200 OK");
  const closed = once(client, "close");
  client.on("error", () => {});
  grant.end();
  await closed;
});

test.each([
  ["http", "CONNECT pages.example.test:443 HTTP/1.1\r\n\r\n", "no response within 50 ms"],
  ["https", "CONNECT pages.example.test:443 HTTP/1.1\r\n\r\n", "no connection within 50 ms"],
  ["https", "GET http://pages.example.test/ HTTP/1.1\r\nhost: x\r\n\r\n", "no connection within 50 ms"],
])("a silent parent proxy over %s is not waited for without end", verifies("BOX-2"), async (scheme, request, why) => {
  // It accepts connections, and never says a word.
  const silent = createServer((socket) => void socket.on("error", () => {}));
  silent.listen(0, "127.0.0.1");
  await once(silent, "listening");
  const parent = `${scheme}://127.0.0.1:${(silent.address() as AddressInfo).port}`;
  const path = join(createTempFolder(), "proxy");
  const proxy = await startSandboxProxy({
    ...{ path, isReachable: () => true, addresses: [], environment: { HTTP_PROXY: parent, HTTPS_PROXY: parent } },
    lookup: async () => [{ address: "93.184.215.14", family: 4 }],
    connectTimeoutMs: 50,
  });
  const client = connect(path);
  onTestFinished(async () => {
    client.destroy();
    await proxy.close();
    silent.close();
  });
  client.write(request);
  expect(await text(client)).toMatch(new RegExp(`^HTTP/1\\.1 502 [^]*${why}`));
});

test("what a call may ask for is offered only if the author says so", verifies("BOX-2", "BOX-3"), async () => {
  const root = createTempFolder();
  const none = createShellTool({ root, sandbox: "off", requests: ["hosts", "outside"] });
  // Without a sandbox there is nothing to ask for.
  expect(Object.keys((none.input as { properties: object }).properties)).toEqual(["command", "timeoutMs"]);
  const tool = createShellTool({ root });
  for (const input of [{ outside: true }, { hosts: ["npm"] }])
    expect(await runTool([tool], "shell", { command: "true", ...input })).toMatch(/^Error: /);
});

test.each(["x64", "arm64"])(
  "the filter of system calls for %s ends in every case",
  verifies("BOX-1"),
  (architecture) => {
    for (const closesNamespaces of [true, false]) {
      const bytes = createSyscallFilter(closesNamespaces, architecture) ?? Buffer.alloc(0);
      const count = bytes.length / 8;
      expect(count).toBeGreaterThan(20);
      // Each jump stays in the program, and the last instruction returns.
      for (let at = 0; at < count; at += 1) {
        const isJump = (bytes.readUInt16LE(at * 8) & 0x07) === 0x05;
        if (isJump) expect(at + 1 + Math.max(bytes[at * 8 + 2] ?? 0, bytes[at * 8 + 3] ?? 0)).toBeLessThan(count);
      }
      expect(bytes.readUInt16LE((count - 1) * 8)).toBe(0x06);
    }
    expect(createSyscallFilter(true, "riscv64")).toBeNull();
  },
);
