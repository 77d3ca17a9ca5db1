/**
 * Plan mode in a conversation: nothing in the folder changes before the person accepts a plan, also through a kill.
 */
import { mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { detectSandbox } from "../../src/tools/index.js";
import { createWorld, type World } from "../cli/pawl.js";
import { type RecordedRequest, startProviderServer } from "../models/provider-server.js";
import { verifies } from "../verifies.js";
import { openPawl } from "./pseudo-terminal.js";

const keys = verifies("CHAT-2#keys");
const write = (path: string) => ({ name: "write_file", input: { path, content: "new\n" } });
const touch = { name: "shell", input: { command: "touch shell.txt; echo ended" } };

/** Tries to write by a tool, by a command and by an agent, and then shows a plan. The answer depends on the conversation alone. */
function respond({ body }: RecordedRequest) {
  const messages = body.messages as readonly { readonly role: string }[];
  const results = messages.filter(({ role }) => role === "tool").length;
  if (JSON.stringify(messages).includes("You are the writer."))
    return results === 0
      ? ({ type: "answer", calls: [write("agent.txt")] } as const)
      : ({ type: "answer", text: "The agent has ended." } as const);
  const agent = { name: "agent_writer", input: { task: "Write." } };
  if (results === 0) return { type: "answer", calls: [write("early.txt"), touch, agent] } as const;
  const steps = { steps: ["Write a.txt.", "Say that it is done."] };
  if (results === 3) return { type: "answer", calls: [{ name: "finish_plan", input: steps }] } as const;
  if (results === 4) return { type: "answer", calls: [write("a.txt")] } as const;
  return { type: "answer", text: "All written." } as const;
}

function configure({ base }: World, sandbox: "auto" | "off"): void {
  const folder = join(base, ".config", "pawl");
  mkdirSync(join(folder, "agents"), { recursive: true });
  const settings = {
    shell: { on: true, sandbox, ask: "outside" },
    permissions: { allow: ["write_file", "shell(touch *)"] },
  };
  writeFileSync(join(folder, "pawl.config.json"), JSON.stringify(settings));
  writeFileSync(
    join(folder, "agents", "writer.md"),
    "---\ndescription: Writes.\npermissionMode: acceptEdits\n---\nYou are the writer.\n",
  );
}

async function startProvider() {
  const server = await startProviderServer("openai-chat", respond);
  onTestFinished(() => server.close());
  const texts = () => JSON.stringify(server.requests.map(({ body }) => body.messages));
  return { env: { OPENAI_BASE_URL: server.baseURL }, texts };
}

const model = ["--model", "openai-compatible/test"];

test.each(["off", ...(detectSandbox() === "none" ? [] : (["auto"] as const))] as const)(
  "nothing changes before the plan is accepted, whatever rules allow, through a kill and a steer (sandbox: %s)",
  keys,
  async (sandbox) => {
    const world = createWorld();
    configure(world, sandbox);
    const { env, texts } = await startProvider();
    const options = { columns: 100, rows: 50, env };
    const person = openPawl(world, model, options);
    await person.sees("ready");
    person.type("\x1b[Z");
    await person.sees("edits allowed");
    person.type("\x1b[Z");
    await person.sees("plan mode");
    person.type("write a.txt\r");
    await person.sees(/\? finish_plan asks:[\s\S]*1\. Write a\.txt\.[\s\S]*2 start, and edit files without asking/);
    expect(readdirSync(world.root)).toEqual([]);
    person.kill("SIGKILL");
    await person.ended;

    const again = openPawl(world, [...model, "--continue"], options);
    await again.sees(/2 start, and edit files without asking[\s\S]*plan mode/);
    again.type("and be brief\r");
    await again.sees("↳ you, before the next model call: and be brief");
    expect(readdirSync(world.root)).toEqual([]);
    await again.answers("2", "2 start, and edit files without asking");
    await again.sees(/All written\.[\s\S]*ready[^\n]*edits allowed/);
    expect(readdirSync(world.root)).toEqual(["a.txt"]);
    expect(texts()).toContain("plan mode: nothing is changed before the person has accepted a plan");
    if (sandbox === "auto") expect(texts()).toMatch(/the folder is read-only\)[\s\S]*?Read-only file system/);
    again.type("/todo\r");
    await again.sees(/\[ \] Write a\.txt\.\s+\[ \] Say that it is done\./);
  },
);

test(
  "a plan that is declined leaves plan mode on, and the mode can be chosen before the first message",
  keys,
  async () => {
    const world = createWorld();
    configure(world, "off");
    const { env, texts } = await startProvider();
    const person = openPawl(world, model, { columns: 100, rows: 50, env });
    await person.sees("ready");
    person.type("/mode plan\r");
    await person.sees("Mode plan: until you accept a plan, neither the model nor its agents can change this folder");
    person.type("write a.txt\r");
    await person.answers("r", "r none of these, because…");
    await person.sees("because >");
    person.type("first the tests\r");
    await person.sees(/All written\.[\s\S]*ready[^\n]*plan mode/);
    expect(readdirSync(world.root)).toEqual([]);
    expect(texts().slice(0, texts().indexOf("early.txt"))).toContain("Plan mode is on");
    expect(texts()).toContain("The person does not accept the plan: first the tests.");
    // The advice after it is for the model.
    expect(texts()).toContain("If they say what is missing");
    const shown = (await person.history()).join("\n");
    expect(shown).toMatch(/does not accept the\s+plan: first the\s+tests/);
    expect(shown).not.toContain("If they say");
    person.type("/quit\r");
    await person.ended;
    const { stderr } = await world.pawl(["run", "--continue", "go on", "--yes", ...model], { env });
    expect(stderr).toContain("This session is in plan mode: nothing in the folder changes until you accept a plan.");
    expect(readdirSync(world.root)).toEqual([]);
  },
);
