/**
 * Agents in files, in a conversation in a pseudo-terminal.
 */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { createWorld } from "../cli/pawl.js";
import { type RecordedRequest, startProviderServer } from "../models/provider-server.js";
import { verifies } from "../verifies.js";
import { openPawl } from "./pseudo-terminal.js";

const toFile = (name: string) => `---\ndescription: Writes.\ntools: Read, Write\nmemory: user\n---\nYou are ${name}.\n`;
const names = ["ann", "bob"];
const files = Object.fromEntries(names.map((name) => [`.pawl/agents/${name}.md`, toFile(name)]));

/** The session calls both agents, each of which writes two files. The answer depends on the conversation alone. */
function respond({ body }: RecordedRequest) {
  const messages = JSON.stringify(body.messages);
  const results = (body.messages as readonly { readonly role: string }[]).filter(({ role }) => role === "tool").length;
  const name = names.find((one) => messages.includes(`You are ${one}.`));
  if (name === undefined)
    return results > 0
      ? ({ type: "answer", text: "All written." } as const)
      : ({
          type: "answer",
          calls: names.map((one) => ({ name: `agent_${one}`, input: { task: `Write as ${one}.` } })),
        } as const);
  if (results === 2) return { type: "answer", text: `${name} has written.` } as const;
  const path = `${name}${results + 1}.txt`;
  return { type: "answer", calls: [{ name: "write_file", input: { path, content: `${name}\n` } }] } as const;
}

test(
  "agents of a folder are called after trust, ask with their names through a kill, and one answer lets the others write",
  verifies("AGENT-4#files", "AGENT-4#rules", "AGENT-4#kill"),
  async () => {
    const world = createWorld(files);
    const server = await startProviderServer("openai-chat", respond);
    onTestFinished(() => server.close());
    const options = { env: { OPENAI_BASE_URL: server.baseURL }, columns: 100, rows: 50 };
    const person = openPawl(world, ["--model", "openai-compatible/test"], options);
    await person.sees(/adds the agent ann, which the model may start with this text[\s\S]*trust ›/);
    person.type("trust all\r");
    await person.sees(/ann\.md: These keys have no effect: memory\.[\s\S]*ready/);
    person.type("write\r");
    await person.sees(/\? (ann|bob) "Write as \1\." · write_file wants to run:/);
    person.kill("SIGKILL");
    await person.ended;

    const again = openPawl(world, ["--model", "openai-compatible/test", "--continue"], options);
    await again.sees(/\? (ann|bob) "Write as \1\." · write_file wants to run:/);
    // Both have asked, so what they ask for next is decided in the mode.
    await again.sees("1 of 2 questions");
    again.type("\x1b[Z");
    await again.sees("edits allowed");
    await again.answers("n", /1 of 2 questions[^\n]*edits allowed/);
    await again.answers("y", /1 question[^\n]*edits allowed/);
    await again.sees(/All written\.[\s\S]*ready/);
    const written = names
      .flatMap((name) => [`${name}1.txt`, `${name}2.txt`])
      .filter((path) => existsSync(join(world.root, path)));
    // One was denied, one approved, and the others were written in the mode.
    expect(written).toHaveLength(3);
    for (const path of written) expect(readFileSync(join(world.root, path), "utf8")).toBe(`${path.slice(0, 3)}\n`);
    again.type("/agents\r");
    await again.sees(
      /ann · of this folder\n {2}Writes\.\n[^·]*?\.pawl\/agents\/ann\.md\n {2}These keys have no effect: memory\./,
    );
    again.type("/cost\r");
    await again.sees("of which agents");
    again.type("/undo\r");
    await again.sees(/goes away[\s\S]*undo ›/);
    again.type("3 files\r");
    await again.sees("Undid changes to 3 files");
    expect(written.filter((path) => existsSync(join(world.root, path)))).toEqual([]);
    again.type("/quit\r");
    await again.ended;
  },
);

test(
  "an agent in the background asks through a kill, and the model is told of its end once",
  verifies("AGENT-4#kill"),
  async () => {
    const world = createWorld({ ".pawl/agents/ann.md": toFile("ann") });
    const server = await startProviderServer("openai-chat", ({ body }) => {
      const messages = JSON.stringify(body.messages);
      if (messages.includes("You are ann."))
        return messages.includes('"tool_call_id"')
          ? { type: "answer", text: "ann has written." }
          : { type: "answer", calls: [{ name: "write_file", input: { path: "ann.txt", content: "ann\n" } }] };
      if (messages.includes("Its answer:")) return { type: "answer", text: "All read." };
      const agent = /as (\w+), has ended/.exec(messages)?.[1];
      if (agent !== undefined) return { type: "answer", calls: [{ name: "read_agent", input: { agent } }] };
      if (messages.includes("works in the background")) return { type: "answer", text: "I go on." };
      return { type: "answer", calls: [{ name: "agent_ann", input: { task: "Write.", background: true } }] };
    });
    onTestFinished(() => server.close());
    const options = { env: { OPENAI_BASE_URL: server.baseURL }, columns: 100, rows: 50 };
    const person = openPawl(world, ["--model", "openai-compatible/test"], options);
    await person.sees("trust ›");
    person.type("\x1b[B\r");
    await person.sees(/ann\.md: These keys have no effect: memory\.[\s\S]*ready/);
    person.type("write\r");
    await person.sees("I go on.");
    await person.sees(/\? ann "Write\." · write_file wants to run:/);
    person.kill("SIGKILL");
    await person.ended;

    const again = openPawl(world, ["--model", "openai-compatible/test", "--continue"], options);
    await again.answers("y", /\? ann "Write\." · write_file wants to run:/);
    await again.sees(/↳ Agent ann has ended: Write\.[\s\S]*All read\.[\s\S]*ready/);
    expect(readFileSync(join(world.root, "ann.txt"), "utf8")).toBe("ann\n");
    again.type("/quit\r");
    await again.ended;
  },
);

test(
  "/agents says why an agent is off, and without agents where their files would be",
  verifies("AGENT-4#files"),
  async () => {
    const options = { columns: 60, rows: 40 };
    const withModel = (model: string) => `---\ndescription: Reads.\nmodel: ${model}\n---\nYou read.\n`;
    const ofModels = { ".pawl/agents/cat.md": withModel("demo"), ".pawl/agents/dan.md": withModel("sonnet") };
    const person = openPawl(
      createWorld({ ...files, ...ofModels, ".pawl/agents/bad.md": "You are bad.\n" }),
      ["--model", "demo"],
      options,
    );
    await person.sees("not now: continue without it");
    person.type("\r");
    await person.sees("Not trusted");
    person.type("/agents\r");
    await person.sees(
      /bob · of this folder\n {2}Writes\.\n[^·]*?\.pawl\/agents\/bob\.md\n {2}off: its file is not trusted: pawl trust/,
    );
    await person.sees(/cat · of this folder · model demo\n[\s\S]*dan · of this folder\n/);
    await person.sees(/bad\.md[\s\S]*does not begin with front matter/);
    const none = openPawl(createWorld(), ["--model", "demo"], options);
    await none.sees("ready");
    none.type("/ag\t\r");
    await none.sees("There are no agents. An agent is a file NAME.md");
  },
);
