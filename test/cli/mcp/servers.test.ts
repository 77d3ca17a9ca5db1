/**
 * MCP servers that files name: how the files are read, which servers are in force, and the trust that those of a folder need.
 */
import { mkdirSync, mkdtempSync, realpathSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { resolveConfiguration } from "../../../src/cli/configuration/resolve-configuration.js";
import { resolveServers } from "../../../src/cli/mcp/resolve-servers.js";
import { expandVariables, formatServerTarget, readServersFile } from "../../../src/cli/mcp/servers-file.js";
import { formatServerNotes, type StartedServers, startServers } from "../../../src/cli/mcp/start-servers.js";
import { formatTrust } from "../../../src/cli/trust/describe-file.js";
import { readFolderTrust, type SuppliedFile, trustFiles } from "../../../src/cli/trust/trust.js";
import { createFileTools } from "../../../src/tools/index.js";
import { runTool } from "../../tools/folder.js";
import { verifies } from "../../verifies.js";

const ofFiles = verifies("CHAT-4#servers");
const ofTrust = verifies("SEC-17#servers");

function world(files: Readonly<Record<string, string>>) {
  const base = realpathSync(mkdtempSync(join(tmpdir(), "pawl-servers-")));
  onTestFinished(() => rmSync(base, { recursive: true, force: true }));
  const write = (path: string, text: string) => {
    mkdirSync(dirname(join(base, path)), { recursive: true });
    writeFileSync(join(base, path), text);
  };
  mkdirSync(join(base, "root"));
  for (const [path, text] of Object.entries(files)) write(path, text);
  const environment = { XDG_CONFIG_HOME: join(base, "config") };
  const place = { root: join(base, "root"), home: join(base, "home"), environment };
  const trust = (names: readonly string[] = [".mcp.json", "pawl.config.json"]) => {
    const { files: found } = readFolderTrust(place.root, place.home);
    trustFiles(
      place.root,
      place.home,
      found.filter(({ name }) => names.includes(name)),
      "ada",
    );
  };
  const states = () => resolveServers(place).map(({ name, scope, off }) => [scope, name, off]);
  return { base, place, write, trust, states };
}

const folder = "root/.mcp.json";
const user = "config/pawl/mcp.json";
const named = (servers: object) => JSON.stringify({ mcpServers: servers });
const docs = { command: "node", args: ["tools/docs.mjs"], env: { TOKEN: "hunter2" } };

describe("the file", ofFiles, () => {
  test("is read as other programs write it, with keys that only they have", () => {
    const { base, write } = world({});
    write(
      "x.json",
      `{ // as others write it
        "inputs": [], "mcpServers": {
        "docs": { "type": "stdio", "command": "npx", "args": ["-y", "@acme/docs@1"], "env": { "TOKEN": "\${DOCS:-none}" }, "alwaysAllow": ["all"] },
        "web": { "type": "streamable-http", "url": "https://mcp.acme.dev/mcp", "headers": { "Authorization": "Bearer abc" } },
        "old": { "type": "sse", "url": "https://mcp.acme.dev/sse" },
        "no__name": { "command": "x" }, "both": { "command": "x", "url": "https://x" }, "none": {},
        "args": { "command": "x", "args": "y" }, "env": { "command": "x", "env": { "A": 1 } },
        "off": { "command": "x", "disabled": true },
      } }`,
    );
    const servers = readServersFile(join(base, "x.json"))?.servers ?? [];
    expect(servers.map(({ name, transport, problem }) => [name, transport?.type ?? null, problem ?? null])).toEqual([
      ["docs", "stdio", null],
      ["web", "http", null],
      ["old", null, expect.stringContaining('use "http"')],
      ["no__name", null, expect.stringContaining("its name")],
      ["both", null, expect.stringContaining("leave one of them out")],
      ["none", null, expect.stringContaining("needs command")],
      ["args", null, "args must be a list of strings"],
      ["env", null, "env must be an object of strings"],
      ["off", "stdio", "it is disabled in the file"],
    ]);
    const [first, second] = servers;
    expect(first?.transport && formatServerTarget(first.transport, first.sandbox)).toBe(
      "npx -y @acme/docs@1 (with TOKEN)",
    );
    expect(second?.transport && formatServerTarget(second.transport, second.sandbox)).toBe(
      "https://mcp.acme.dev/mcp (with Authorization)",
    );
  });

  test.each([
    ["[]", "mcpServers"],
    ['{ "servers": {} }', "mcpServers"],
    ['{ "mcpServers": ', "not valid JSON"],
  ])("%s is refused", (text, message) => {
    const { place } = world({ [folder]: text });
    expect(() => resolveServers(place)).toThrow(message);
  });

  test("names variables, which are filled in when the server is started", () => {
    const [a, b] = ["$" + "{A}", "$" + "{B:-b}"];
    const transport = { type: "stdio", command: "x", args: [a, b, "$C ${D"], env: { T: `${a}-${b}` } } as const;
    expect(expandVariables("s", transport, { A: "1" })).toEqual({
      type: "stdio",
      command: "x",
      args: ["1", "b", "$C ${D"],
      env: { T: "1-b" },
    });
    expect(() => expandVariables("s", transport, {})).toThrow(
      "The MCP server s needs the variable A, which is not set",
    );
  });
});

describe("servers of a folder", ofTrust, () => {
  test("are off until the file is trusted, whatever else is", () => {
    const { place, trust, states } = world({
      [folder]: named({ docs, mine: { command: "other" } }),
      [user]: named({ mine: { command: "mine" } }),
      "root/pawl.config.json": '{ "model": "a/b" }',
    });
    const untrusted = "its file is not trusted: pawl trust";
    const shadowed = "your own file has a server with this name";
    expect(states()).toEqual([
      ["user", "mine", null],
      ["folder", "docs", untrusted],
      ["folder", "mine", shadowed],
    ]);
    const { warning } = resolveConfiguration(place);
    expect(warning).toContain("starts the MCP server docs: node tools/docs.mjs (with TOKEN)");
    expect(warning).not.toContain("hunter2");
    trust(["pawl.config.json"]);
    expect(states()[1]).toEqual(["folder", "docs", untrusted]);
    expect(resolveConfiguration(place).model).toBe("a/b");
    trust([".mcp.json"]);
    expect(states()[1]).toEqual(["folder", "docs", null]);
    expect(resolveConfiguration(place)).toMatchObject({ model: "a/b", warning: null });
  });

  test("may have a malformed address among its arguments: it is one more word", () => {
    const { place, trust, states } = world({ [folder]: named({ docs: { command: "node", args: ["file://%zz"] } }) });
    expect(resolveConfiguration(place).warning).toContain("file://%zz");
    trust();
    expect(states()).toEqual([["folder", "docs", null]]);
  });

  test.each([
    ["the file", folder, `${named({ docs })} `],
    ["a program of the folder that it starts", "root/tools/docs.mjs", "other()"],
  ])("are off again if %s changes", (_, path, text) => {
    const { write, trust, states } = world({ [folder]: named({ docs }), "root/tools/docs.mjs": "serve()" });
    trust();
    expect(states()).toEqual([["folder", "docs", null]]);
    write(path, text);
    expect(states()).toEqual([["folder", "docs", expect.stringContaining("not trusted")]]);
  });

  const nodeOptions = { NODE_OPTIONS: "--require ./tools/pre.cjs" };
  test.each([
    ["a file of an option", { command: "node", args: ["--import=./tools/pre.mjs", "-"] }, "tools/pre.mjs"],
    ["a file of a variable", { command: "server", env: nodeOptions }, "tools/pre.cjs"],
    ["a program found by PATH", { command: "server", env: { PATH: "./bin" } }, "bin/server"],
    ["a module that its program imports", { command: "node", args: ["tools/docs.mjs"] }, "tools/lib/deep.mjs"],
    ["a file that its shell may start", { command: "sh", args: ["-c", "exec ./*.sh"] }, "start.sh"],
    ["a file that a runner may start", { command: "npm", args: ["run", "mcp"] }, "package.json"],
    ["an ignore file, which hides files", { command: "npx", args: ["server"] }, "tools/.gitignore"],
  ])("are off again if %s changes or is new", (_, server, path) => {
    const { write, trust, states } = world({ [folder]: named({ docs: server }), "root/tools/docs.mjs": "serve()" });
    const isOn = () => states()[0]?.[2] === null;
    trust();
    expect(isOn()).toBe(true);
    write(`root/${path}`, "one");
    expect(isOn()).toBe(false);
    trust();
    expect(isOn()).toBe(true);
    write(`root/${path}`, "two");
    expect(isOn()).toBe(false);
  });

  test("are off again if a large program changes, though its size and time are as before", () => {
    const { base, trust, states } = world({ [folder]: named({ docs: { command: "./server" } }) });
    const path = join(base, "root/server");
    const bytes = Buffer.alloc(5_000_000, 1);
    const save = () => {
      writeFileSync(path, bytes);
      utimesSync(path, 1_000_000_000, 1_000_000_000);
    };
    save();
    trust();
    expect(states()).toEqual([["folder", "docs", null]]);
    bytes[4_999_999] = 2;
    save();
    expect(states()).toEqual([["folder", "docs", expect.stringContaining("not trusted")]]);
  });

  test("say whether they may run other files of the folder, and stay on if only ignored files change", () => {
    const says = (server: object) => {
      const { place } = world({ [folder]: named({ docs: server }), "root/tools/docs.mjs": "serve()" });
      return resolveConfiguration(place).warning ?? "";
    };
    const others = "which may run other files of this folder";
    for (const command of ["sh", "npx", "node", "/usr/bin/python3.12", "uvx", "./tools/docs.mjs"])
      expect(says({ command, args: ["x"] })).toContain(others);
    for (const variable of ["NODE_OPTIONS", "PATH", "LD_PRELOAD", "PYTHONPATH"])
      expect(says({ command: "/opt/server", env: { [variable]: "x" } })).toContain(others);
    expect(says({ command: "/opt/server", args: ["--port", "7"], env: { TOKEN: "x" } })).not.toContain(others);

    const { write, trust, states } = world({
      [folder]: named({ docs: { command: "npx", args: ["server"] } }),
      "root/.gitignore": "*.log\n/dist/\n",
    });
    trust();
    write("root/a.log", "x");
    write("root/dist/x.js", "x");
    write("root/.git/index", "x");
    expect(states()).toEqual([["folder", "docs", null]]);
    write("root/src/x.js", "x");
    expect(states()).toEqual([["folder", "docs", expect.stringContaining("not trusted")]]);
  });

  test("that name no file of the folder and no runner stay trusted while the folder changes", () => {
    const server = { command: "/opt/server", args: ["--port", "7"] };
    const { write, trust, states } = world({ [folder]: named({ docs: server }) });
    trust();
    write("root/src/x.js", "x");
    expect(states()).toEqual([["folder", "docs", null]]);
  });

  test("cannot be named by the agent: no file tool writes the file", async () => {
    const { place } = world({ [folder]: named({ docs }) });
    const tools = createFileTools({ root: place.root });
    for (const path of [".mcp.json", "sub/.mcp.json", ".MCP.json"])
      expect(await runTool(tools, "write_file", { path, content: named({}) })).toContain("is protected");
  });

  test("that are off start nothing, and one that cannot be started is told", ofFiles, async () => {
    const { place, trust, base } = world({
      [folder]: named({
        docs: { command: join("no", "such", "program") },
        off: { command: "touch", args: ["x"], disabled: true },
      }),
    });
    const before = await startServers(resolveServers(place), place.root);
    expect(before).toMatchObject({ tools: [], all: [{ server: null, problems: [] }, { server: null }] });
    trust();
    const { all, close } = await startServers(resolveServers(place), place.root);
    expect(all[0]?.problems).toEqual([expect.stringMatching(/docs.*cannot be reached.*ENOENT/s)]);
    expect(all[1]).toMatchObject({ server: null, problems: [] });
    await close();
    expect(base).toBeDefined();
  });
});

test("a server whose tools are dear in every request is told of, with the figure", () => {
  const tool = (at: number) => ({
    name: `mcp__big__tool_${at}`,
    description: "Does something. ".repeat(8),
    input: { type: "object" },
  });
  const server = (name: string, tools: number) => ({
    ...{
      name,
      path: "/home/me/.mcp.json",
      scope: "user",
      transport: null,
      off: null,
      server: {},
      problems: [],
      log: () => "",
    },
    tools: Array.from({ length: tools }, (_, at) => tool(at)),
  });
  const all = [server("big", 200), server("small", 3)] as unknown as StartedServers["all"];
  const notes = formatServerNotes({ all, tools: [], versionOf: () => undefined, close: async () => {} });
  expect(notes).toEqual([
    expect.stringMatching(/^MCP server big: its 200 tools take about \d{1,3},\d{3} tokens\.$/),
    expect.stringMatching(
      /^ {2}It is configured in \/home\/me\/\.mcp\.json\. Every request contains them, unless .* then the model searches for them\.$/,
    ),
  ]);
});

describe("the sandbox of a server", ofTrust, () => {
  test.each([
    [{}, null],
    [{ hosts: ["npm", "api.acme.dev:8443"], addresses: ["10.0.0.0/8"], show: ["~/library"], write: ["../out"] }, null],
    [{ host: ["npm"] }, 'sandbox has the unknown key "host"; it can have hosts, addresses, show, write'],
    [{ hosts: "npm" }, "sandbox.hosts must be a list of strings"],
    [{ write: [""] }, "sandbox.write must be a list of strings"],
    [{ hosts: ["*"] }, expect.stringContaining('sandbox.hosts has "*": write a host')],
    [true, expect.stringContaining("sandbox must be an object")],
  ])("%j", (sandbox, problem) => {
    const { place } = world({ [user]: named({ docs: { ...docs, sandbox } }) });
    expect(resolveServers(place)).toMatchObject([{ off: problem, sandbox: problem === null ? sandbox : null }]);
  });

  test("is not for addresses", () => {
    const { states } = world({ [user]: named({ web: { url: "https://mcp.acme.dev/mcp", sandbox: {} } }) });
    expect(states()).toEqual([["user", "web", expect.stringContaining("sandbox is for programs")]]);
  });

  test("is said where a person decides about a server, and what the person chose holds until a file changes", () => {
    const { place, write } = world({ [folder]: named({ docs, own: { ...docs, sandbox: { hosts: ["npm"] } } }) });
    const read = () => readFolderTrust(place.root, place.home);
    const [file] = read().files;
    expect(file?.effects).toEqual([
      expect.stringMatching(/docs: node tools\/docs.mjs \(with TOKEN\)(?! in)/),
      expect.stringContaining("own: node tools/docs.mjs (with TOKEN) in the sandbox (reaches npm)"),
    ]);
    const sandboxes = () => resolveServers(place).map(({ name, sandbox, off }) => [name, sandbox, off]);
    trustFiles(place.root, place.home, read().files, "ada", true);
    expect(sandboxes()).toEqual([
      ["docs", {}, null],
      ["own", { hosts: ["npm"] }, null],
    ]);
    expect(formatTrust(read().files[0] as SuppliedFile)).toContain("Its servers run in the sandbox.");
    write(folder, named({ docs }));
    expect(sandboxes()).toEqual([["docs", null, "its file is not trusted: pawl trust"]]);
    trustFiles(place.root, place.home, read().files, "ada");
    expect(sandboxes()).toEqual([["docs", null, null]]);
  });

  test("is never left out: without one, the server is not started, and the reason is said", async () => {
    const { place } = world({ [user]: named({ docs: { ...docs, sandbox: {} } }) });
    vi.stubEnv("HOME", place.root);
    onTestFinished(() => void vi.unstubAllEnvs());
    const { all } = await startServers(resolveServers(place), place.root);
    expect(all).toMatchObject([
      {
        server: null,
        problems: [
          "The MCP server docs is not started: it needs a sandbox. Commands cannot be sandboxed: the folder is your home, or contains it. Work in a folder below your home.",
        ],
      },
    ]);
  });
});
