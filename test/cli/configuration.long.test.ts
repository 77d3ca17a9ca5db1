/**
 * `pawl config` and `pawl trust`, as a person and a script use them.
 */
import { chmodSync, existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { startProviderServer } from "../models/provider-server.js";
import { verifies } from "../verifies.js";
import { createWorld, parseJsonLines } from "./pawl.js";

const brought =
  '{ // of the folder\n  "model": "openai-compatible/theirs",\n  "permissions": { "allow": ["write_file(*.md)"] }\n}\n';

test(
  "what a folder brings counts once it is trusted, exactly as it is",
  verifies("SEC-17#settings", "CHAT-4#settings"),
  async () => {
    const write = { name: "write_file", input: { path: "a.md", content: "x" } };
    const server = await startProviderServer("openai-chat", [
      { type: "answer", calls: [write] },
      { type: "answer", text: "Done." },
    ]);
    onTestFinished(() => server.close());
    const world = createWorld({ "pawl.config.json": brought });
    const env = { OPENAI_BASE_URL: server.baseURL };
    const before = await world.pawl(["run", "write", "--yes"], { env });
    expect(before.stderr).toContain("is not trusted, so this is off: it sets the model: openai-compatible/theirs");
    expect(before.stderr.match(/is not trusted/g)).toHaveLength(1);
    expect(server.requests).toHaveLength(0);
    expect(await world.pawl(["trust"])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("pawl trust --hash"),
    });
    const [shown] = parseJsonLines((await world.pawl(["trust", "--show", "--json"])).stdout);
    expect(shown).toMatchObject({
      isTrusted: false,
      files: [{ effects: ["sets the model: openai-compatible/theirs", "allows without a question: write_file(*.md)"] }],
    });
    expect((await world.pawl(["trust", "--hash", "0".repeat(64)])).code).toBe(2);
    expect((await world.pawl(["trust", "--hash", shown.hash])).stdout).toContain("Trusted, as it is now.");
    expect((await world.pawl(["config", "get", "model"])).stdout).toBe("openai-compatible/theirs\n");
    const after = await world.pawl(["run", "write"], { env });
    expect({ ...after, isThere: existsSync(join(world.root, "a.md")) }).toMatchObject({ code: 0, isThere: true });
    writeFileSync(join(world.root, "pawl.config.json"), brought.replace("*.md", "**"));
    expect((await world.pawl(["config"])).stderr).toContain("has changed since it was trusted");
    const changed = await world.pawl(["trust", "--show"]);
    expect(changed.stdout).toContain('+   "permissions": { "allow": ["write_file(**)"] }');
    expect(changed.stdout).not.toContain("of the folder");
  },
);

test("a person is shown the whole file, and answers", verifies("SEC-17#settings"), async () => {
  const world = createWorld({ "pawl.config.json": brought });
  const running = world.startOnTerminal(["trust"]);
  await running.said("Trust this file");
  running.type("y\r");
  const { code, stdout } = await running.ended;
  expect({ code, stdout }).toMatchObject({ code: 0, stdout: expect.stringContaining("// of the folder") });
  expect((await world.pawl(["trust", "--revoke"])).stdout).toContain("Not trusted");
});

test("a file that cannot be used stops each command that would go by it", verifies("CHAT-4#settings"), async () => {
  const world = createWorld({ "pawl.config.json": '{ "modle": "x" }' });
  for (const args of [["config"], ["config", "check"], ["run", "hello"]])
    expect(await world.pawl(args)).toMatchObject({ code: 2, stderr: expect.stringContaining("Did you mean model") });
});

test(
  "pawl config check names each server and agent that its file leaves off",
  verifies("CHAT-4#settings"),
  async () => {
    const world = createWorld();
    const own = dirname((await world.pawl(["config", "path"])).stdout.split("\n")[0] ?? "");
    mkdirSync(join(own, "agents"), { recursive: true });
    writeFileSync(join(own, "agents/rev.md"), "You review.");
    expect(await world.pawl(["config", "check"])).toMatchObject({
      code: 0,
      stdout: `${own}/agents/rev.md is not an agent: it does not begin with front matter between two lines ---.\n`,
    });
    writeFileSync(
      join(own, "mcp.json"),
      '{ "mcpServers": { "a": { "cmd": "x" }, "b": { "command": "x", "disabled": true } } }',
    );
    const { stdout } = await world.pawl(["config", "check"]);
    expect(stdout).toContain(`Valid: ${own}/mcp.json`);
    expect(stdout).toContain(`The MCP server a in ${own}/mcp.json is off: it needs command`);
    expect(stdout).not.toContain("server b");
  },
);

test(
  "pawl config set writes what every command then reads, and nothing else",
  verifies("CHAT-4#settings"),
  async () => {
    const world = createWorld();
    const file = (await world.pawl(["config", "path"])).stdout.split("\n")[0] ?? "";
    const text = () => readFileSync(file, "utf8");
    const set = (...words: string[]) => world.pawl(["config", "set", ...words]);
    expect(await set("model", "demo")).toMatchObject({ code: 0, stdout: `model  demo  (${file})\n` });
    writeFileSync(file, JSON.stringify({ $schema: "https://example.org/pawl.json", ...JSON.parse(text()) }));
    expect((await set("limits.maxSteps", "7")).code).toBe(0);
    expect(parseJsonLines((await set("limits.maxCostUsd", "0.5", "--json")).stdout)).toEqual([
      { key: "limits.maxCostUsd", value: 0.5, path: file },
    ]);
    const whole = {
      $schema: "https://example.org/pawl.json",
      model: "demo",
      limits: { maxSteps: 7, maxCostUsd: 0.5 },
    };
    expect(JSON.parse(text())).toEqual(whole);
    expect((await world.pawl(["config", "get", "limits.maxSteps"])).stdout).toBe("7\n");
    for (const [words, message] of [
      [["modle", "demo"], "Did you mean model?"],
      [["limits.maxSteps", "1.5"], "limits.maxSteps must be a number above 0"],
      [["shell.on", "maybe"], "takes true or false"],
      [["limits.maxSteps", "0"], "limits.maxSteps must be a number above 0"],
      [["limits.maxTokens", "many"], "limits.maxTokens takes a number above 0"],
      [["model", " "], "model must be a string that is not empty"],
      [["permissions.allow", "shell"], "pawl permissions add allow"],
      [["ui.theme", "dark"], "pawl: ui.theme must be auto or none. Nothing was changed.\n"],
    ] as const)
      expect(await set(...words)).toMatchObject({ code: 2, stderr: expect.stringContaining(message) });
    expect(JSON.parse(text())).toEqual(whole);
    const commented = '{ // mine\n  "model": "demo" }\n';
    writeFileSync(file, commented);
    expect(await set("model", "other/model")).toMatchObject({ code: 2, stderr: expect.stringContaining("comments") });
    expect(text()).toBe(commented);
    const folder = await set("model", "demo", "--folder");
    expect(folder).toMatchObject({ code: 0, stderr: expect.stringContaining("pawl trust") });
    expect(JSON.parse(readFileSync(join(world.root, "pawl.config.json"), "utf8"))).toEqual({ model: "demo" });
  },
);

test("pawl config edit keeps a text that cannot be used beside the file", verifies("CHAT-4#settings"), async () => {
  const world = createWorld();
  const file = (await world.pawl(["config", "path"])).stdout.split("\n")[0] ?? "";
  mkdirSync(dirname(file), { recursive: true });
  const editor = join(world.base, "editor.sh");
  const edit = (script: string) => {
    writeFileSync(editor, `#!/bin/sh\n${script}\n`);
    chmodSync(editor, 0o755);
    return world.pawl(["config", "edit"], { env: { VISUAL: editor } });
  };
  const replace = (from: string, to: string) => `sed 's|${from}|${to}|' "$1" > "$1.new" && mv "$1.new" "$1"`;
  writeFileSync(file, '{ // mine\n  "model": "demo" }\n');
  expect(await edit("true")).toMatchObject({ code: 0, stdout: "Nothing was changed.\n" });
  const refused = await edit(replace('"model"', '"modle"'));
  expect(refused).toMatchObject({ code: 2, stderr: expect.stringContaining("Did you mean model") });
  expect(refused.stderr).toContain(`Your text is in ${file}.draft`);
  expect(readFileSync(file, "utf8")).toBe('{ // mine\n  "model": "demo" }\n');
  expect(await edit(replace('"modle": "demo"', '"model": "other/model"'))).toMatchObject({ code: 0 });
  expect(readFileSync(file, "utf8")).toBe('{ // mine\n  "model": "other/model" }\n');
  expect(existsSync(`${file}.draft`)).toBe(false);
  expect(await edit("exit 1")).toMatchObject({ code: 2, stderr: expect.stringContaining("Nothing was changed") });
  expect(await world.pawl(["config", "edit"])).toMatchObject({
    code: 2,
    stderr: expect.stringContaining("Set VISUAL or EDITOR"),
  });
});

type Body = {
  readonly messages: readonly { readonly role: string; readonly content: unknown }[];
  readonly tools: readonly { readonly function: { readonly name: string } }[];
};

test(
  "each setting is in force in a run, and a folder's only after trust",
  verifies("CHAT-4#settings", "SEC-17#settings"),
  async () => {
    const command = 'echo "CI is [$CI]"; sleep 30';
    const world = createWorld({
      "AGENTS.md": "Agents read this.",
      "HINTS.md": `Hints are here.\n${"x".repeat(500)}\nEnd.`,
    });
    const run = async (
      file: object | null,
      calls: readonly { name: string; input: { readonly [name: string]: string } }[],
    ) => {
      const path = join(world.root, "pawl.config.json");
      rmSync(path, { force: true });
      if (file !== null) writeFileSync(path, JSON.stringify(file));
      const server = await startProviderServer("openai-chat", [
        ...(calls.length === 0 ? [] : [{ type: "answer" as const, calls }]),
        { type: "answer", text: "Done." },
      ]);
      onTestFinished(() => server.close());
      const env = { OPENAI_BASE_URL: server.baseURL, CI: "of-mine" };
      const ended = await world.pawl(["run", "go", "--yes", "--model", "openai-compatible/m"], { env });
      expect(ended).toMatchObject({ code: 0 });
      const bodies = server.requests.map(({ body }) => body as Body);
      const [first] = bodies;
      return {
        names: (first?.tools ?? []).map((tool) => tool.function.name),
        prompt: JSON.stringify(first?.messages),
        last: JSON.stringify(bodies.at(-1)?.messages),
        stderr: ended.stderr,
      };
    };
    const plain = await run(null, []);
    expect(plain.names).toContain("fetch_url");
    expect(plain.names).not.toContain("shell");
    expect(plain.prompt).toContain("Agents read this.");
    const settings = {
      systemPrompt: { append: "Answer in rhymes." },
      shell: { on: true, sandbox: "off", timeoutMs: 2_000, env: ["CI"] },
      tools: { off: ["fetch_url", "todo"] },
      context: { files: ["HINTS.md"], maxBytes: 100 },
    };
    const untrusted = await run(settings, []);
    expect(untrusted.names).toEqual(plain.names);
    expect(untrusted.prompt).not.toContain("rhymes");
    expect(untrusted.prompt).toContain("Agents read this.");
    expect(untrusted.stderr).toContain("so this is off: it adds to the system prompt: Answer in rhymes.");
    const [shown] = parseJsonLines((await world.pawl(["trust", "--show", "--json"])).stdout);
    expect((await world.pawl(["trust", "--hash", shown.hash])).code).toBe(0);
    const trusted = await run(settings, [{ name: "shell", input: { command } }]);
    expect(trusted.names).toContain("shell");
    expect(trusted.names).not.toContain("fetch_url");
    expect(trusted.names).not.toContain("todo");
    expect(trusted.prompt).toContain("Answer in rhymes.");
    expect(trusted.prompt).toContain("Hints are here.");
    expect(trusted.prompt).not.toMatch(/Agents read this|End\./);
    expect(trusted.last).toContain("CI is [of-mine]");
    expect(trusted.last).toContain("stopped after 2000 ms; not sandboxed");
    expect(trusted.stderr).toContain("Commands are not sandboxed: shell.sandbox is off.");
    const config = (await world.pawl(["config"])).stdout;
    expect(config).toContain(`shell.env  ["CI"]  (${join(world.root, "pawl.config.json")})`);
    // The person's own file for the folder is stronger.
    for (const [key, value] of [
      ["shell.on", "false"],
      ["tools.off", ""],
    ] as const)
      expect(await world.pawl(["config", "set", key, value, "--project"])).toMatchObject({ code: 0 });
    const own = await run(settings, []);
    expect(own.names).toContain("fetch_url");
    expect(own.names).not.toContain("shell");
    expect(own.prompt).toContain("Answer in rhymes.");
  },
);

test("a setting is removed from one file, and what applies then is shown", verifies("CHAT-4#settings"), async () => {
  const world = createWorld();
  const missing = await world.pawl(["config", "unset", "model"]);
  expect(missing).toMatchObject({ code: 2, stderr: expect.stringContaining("model is not set in ") });
  await world.pawl(["config", "set", "model", "demo"]);
  await world.pawl(["config", "set", "limits.maxSteps", "5"]);
  await world.pawl(["config", "set", "limits.maxSteps", "9", "--project"]);
  const own = await world.pawl(["config", "unset", "limits.maxSteps", "--project"]);
  expect(own).toMatchObject({ code: 0, stdout: expect.stringMatching(/no longer set in .*\. Now: 5 \(.*\)\n$/) });
  const last = await world.pawl(["config", "unset", "limits.maxSteps", "--json"]);
  expect(JSON.parse(last.stdout)).toMatchObject({ key: "limits.maxSteps", value: null, from: null });
  const [path = ""] = (await world.pawl(["config", "path"])).stdout.split("\n");
  expect(JSON.parse(readFileSync(path, "utf8"))).toEqual({ model: "demo" });
  expect(await world.pawl(["config", "unset", "modle"])).toMatchObject({
    code: 2,
    stderr: expect.stringContaining("Did you mean model?"),
  });
});

test("a name in tools.off that resembles no tool is reported, and keeps nothing from starting", async () => {
  const world = createWorld();
  expect(await world.pawl(["config", "set", "tools.off", "todo,fly_plane"])).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('tools.off names "fly_plane", which is not a tool'),
  });
  const [path = ""] = (await world.pawl(["config", "path"])).stdout.split("\n");
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, '{ "tools": { "off": ["todo", "fly_plane"] } }');
  const problem = `tools.off in ${path} names "fly_plane", which is not a tool`;
  expect(await world.pawl(["config", "check"])).toMatchObject({ code: 0, stdout: expect.stringContaining(problem) });
  const ended = await world.pawl(["run", "hello", "--model", "demo"]);
  expect(ended).toMatchObject({ code: 0, stderr: expect.stringContaining(problem) });
});

test("an unknown tool cannot be turned off", verifies("CHAT-4#settings"), async () => {
  const world = createWorld();
  for (const [tool, nearest] of [
    ["fetch_ulr", "fetch_url"],
    ["Bash", "shell"],
  ] as const) {
    const set = await world.pawl(["config", "set", "tools.off", `todo,${tool}`]);
    expect(set).toMatchObject({ code: 2, stderr: expect.stringContaining(`did you mean ${nearest}?`) });
  }
  expect(await world.pawl(["config", "get", "tools.off"])).toMatchObject({ code: 0, stdout: "[]\n" });
  writeFileSync(join(world.root, "pawl.config.json"), '{ "tools": { "off": ["fetch_ulr"] } }');
  for (const command of [
    ["config", "check"],
    ["run", "hello", "--model", "demo"],
  ]) {
    const ended = await world.pawl(command);
    expect(ended.code).toBe(2);
    expect(ended.stderr).toContain(
      `${join(world.root, "pawl.config.json")} cannot be used: tools.off names "fetch_ulr"`,
    );
  }
});

test("every list can be set with commas or as JSON", verifies("CHAT-4#settings"), async () => {
  const world = createWorld();
  for (const [key, value, written] of [
    ["tools.off", "todo, mcp__docs__search,agent_scout", ["todo", "mcp__docs__search", "agent_scout"]],
    ["tools.off", "[]", []],
    ["shell.hosts", "npm,api.example.org", ["npm", "api.example.org"]],
    ["shell.addresses", "10.1.0.0/16", ["10.1.0.0/16"]],
    ["shell.unasked", "ls,git status", ["ls", "git status"]],
    ["shell.show", '["/srv/a, b"]', ["/srv/a, b"]],
    ["fallbacks", "anthropic/claude-sonnet-5-5,fast", ["anthropic/claude-sonnet-5-5", "fast"]],
  ] as const) {
    expect(await world.pawl(["config", "set", key, value])).toMatchObject({ code: 0 });
    expect(JSON.parse((await world.pawl(["config", "get", key])).stdout)).toEqual(written);
  }
});

test("PAWL_MODEL is stronger than files, and weaker than --model", verifies("CHAT-4#settings"), async () => {
  const world = createWorld();
  await world.pawl(["config", "set", "model", "openai-compatible/of-file"]);
  const env = { PAWL_MODEL: "demo" };
  expect((await world.pawl(["config"], { env })).stdout).toBe("model  demo  (PAWL_MODEL)\n");
  const run = await world.pawl(["run", "hello"], { env });
  expect(run).toMatchObject({ code: 0, stderr: expect.stringContaining("because PAWL_MODEL names it") });
  const named = await world.pawl(["run", "hello", "--model", "openai-compatible/x"], { env });
  expect(named).toMatchObject({ code: 2, stderr: expect.stringContaining("openai-compatible/x") });
});

test(
  "models of one's own have their address and key, also when the session goes on, and reach no other server",
  verifies("CHAT-4#settings"),
  async () => {
    const corporate = await startProviderServer("openai-chat", [
      { type: "answer", text: "One." },
      { type: "answer", text: "Two." },
      { type: "answer", text: "Three." },
    ]);
    const other = await startProviderServer("openai-chat", []);
    onTestFinished(async () => {
      await corporate.close();
      await other.close();
    });
    const world = createWorld();
    const models = {
      work: { use: "openai-compatible/m", baseUrl: corporate.baseURL, apiKeyEnv: "CORP_KEY", contextWindow: 9_000 },
    };
    const set = await world.pawl(["config", "set", "models", JSON.stringify(models)]);
    expect(set).toMatchObject({ code: 0 });
    const env = { CORP_KEY: "corporate-key", OPENAI_API_KEY: "private-key", OPENAI_BASE_URL: other.baseURL };
    const first = await world.pawl(["run", "--model", "work", "hello"], { env });
    expect(first).toMatchObject({
      code: 0,
      stderr: expect.stringContaining("Using openai-compatible/m, which is called work here."),
    });
    expect(await world.pawl(["run", "--continue", "again"], { env })).toMatchObject({ code: 0 });
    const keys = corporate.requests.map(({ headers }) => headers.authorization);
    expect(keys).toEqual(["Bearer corporate-key", "Bearer corporate-key"]);
    expect(other.requests).toHaveLength(0);
    const missing = await world.pawl(["run", "--model", "home", "hello"], { env });
    expect(missing).toMatchObject({ code: 2, stderr: expect.stringContaining('"home"') });
    const { CORP_KEY: _, ...without } = env;
    await world.pawl(["run", "--model", "work", "hello"], { env: without });
    expect(corporate.requests.at(-1)?.headers.authorization).toBeUndefined();
  },
);

test("skills.off hides skills from the model", verifies("CHAT-4#settings"), async () => {
  const skill = (name: string) => `---\nname: ${name}\ndescription: About ${name}.\n---\nThe text of ${name}.`;
  const server = await startProviderServer("openai-chat", [
    { type: "answer", calls: [{ name: "read_skill", input: { name: "old-skill" } }] },
    { type: "answer", text: "Done." },
  ]);
  onTestFinished(() => server.close());
  const world = createWorld({
    ".pawl/skills/new/SKILL.md": skill("new-skill"),
    ".pawl/skills/old/SKILL.md": skill("old-skill"),
  });
  await world.pawl(["config", "set", "skills.off", "old-skill"]);
  const ran = await world.pawl(["run", "--model", "openai-compatible/m", "hello"], {
    env: { OPENAI_BASE_URL: server.baseURL },
  });
  expect(ran).toMatchObject({ code: 0 });
  const sent = JSON.stringify(server.requests.map(({ body }) => body));
  expect(sent).toContain("About new-skill.");
  expect(sent).not.toContain("About old-skill.");
  expect(sent).not.toContain("The text of old-skill.");
});

test(
  "pawl hooks import copies hooks after a person has seen them, and not through a link",
  verifies("CHAT-6#events"),
  async () => {
    const settings = (command: string) =>
      JSON.stringify({
        hooks: { Stop: [{ hooks: [{ type: "command", command }] }], Setup: [{ hooks: [{ type: "http" }] }] },
      });
    const world = createWorld({
      ".claude/settings.json": settings("of-folder.sh"),
      "person/.claude/settings.json": settings("of-person.sh"),
    });
    const env = { HOME: join(world.root, "person") };
    const refused = await world.pawl(["hooks", "import"], { env, input: "y\n" });
    expect(refused).toMatchObject({ code: 2, stderr: expect.stringContaining("Without a terminal") as string });
    const importing = world.startOnTerminal(["hooks", "import"], { env });
    await importing.said("Copy 1 hook?");
    importing.type("y\r");
    await importing.said("person/.config/pawl/hooks.json:");
    importing.type("n\r");
    const { code, stdout } = await importing.ended;
    expect(code).toBe(2);
    expect(stdout).toMatch(/Stop {2}of-folder\.sh[\s\S]*Pawl has no event Setup[\s\S]*trusted the file: pawl trust/);
    expect(readFileSync(join(world.root, ".pawl/hooks.json"), "utf8")).toContain("of-folder.sh");
    expect(existsSync(join(env.HOME, ".config/pawl/hooks.json"))).toBe(false);
    const listed = await world.pawl(["hooks", "--json"], { env });
    expect(parseJsonLines(listed.stdout)).toMatchObject([{ event: "Stop", command: "of-folder.sh", on: false }]);
    mkdirSync(join(env.HOME, ".config/pawl"), { recursive: true });
    mkdirSync(join(world.root, "other/.claude"), { recursive: true });
    writeFileSync(join(world.root, "other/.claude/settings.json"), settings("evil.sh"));
    symlinkSync(join(env.HOME, ".config/pawl"), join(world.root, "other/.pawl"));
    const linked = world.startOnTerminal(["hooks", "import", "--root", "other"], { env });
    await linked.said("Copy 1 hook?");
    linked.type("y\r");
    expect((await linked.ended).stdout).toContain("cannot be written: it is not in the folder");
    expect(existsSync(join(env.HOME, ".config/pawl/hooks.json"))).toBe(false);
  },
);
