/**
 * Questions of the model to the person: in the conversation, without a live screen, in `pawl run`, and where nobody can be asked.
 */
import { describe, expect, onTestFinished, test } from "vitest";
import { createWorld, parseJsonLines, type World } from "../cli/pawl.js";
import { startProviderServer } from "../models/provider-server.js";
import { verifies } from "../verifies.js";
import { openPawl, type PersonOptions } from "./pseudo-terminal.js";

const keys = verifies("CHAT-2#keys");
const model = ["--model", "openai-compatible/test"];

/** A model that asks for a color, and ends. */
async function startModel(options: readonly string[] | undefined = ["red", "blue"], question = "Which colour?") {
  const input = { question, ...(options.length === 0 ? {} : { options }) };
  const server = await startProviderServer("openai-chat", [
    { type: "answer", calls: [{ name: "ask_person", input }] },
    { type: "answer", text: "Thank you." },
  ]);
  onTestFinished(() => server.close());
  /** What the model was given as the result of its call. */
  const result = (): string => JSON.stringify(server.requests.at(-1)?.body.messages);
  return { env: { OPENAI_BASE_URL: server.baseURL }, result };
}

async function open(
  world: World,
  args: readonly string[] = [],
  options: PersonOptions = {},
  answers?: readonly string[],
) {
  const { env, result } = await startModel(answers);
  return { person: openPawl(world, [...args, ...model], { rows: 40, ...options, env }), env, result };
}

describe("A question of the model in the conversation", () => {
  test.each([40, 120])("is answered with a number, at %i columns", keys, async (columns) => {
    const { person, result } = await open(createWorld(), [], { columns });
    await person.sees("ready");
    person.type("paint\r");
    await person.answers("2", /ask_person asks:\s+Which colour\?\s+1 red\s+2 blue/);
    await person.sees("Thank you.");
    expect(result()).toContain("blue");
  });

  test("is declined with a reason, which the model gets", keys, async () => {
    const { person, result } = await open(createWorld());
    await person.sees("ready");
    person.type("paint\r");
    await person.answers("r", "r none of these, because…");
    await person.sees("because >");
    person.type("green, as the door\r");
    await person.sees("Thank you.");
    expect(result()).toContain("The person declined to answer: green, as the door.");
  });

  test("without a list is answered in words, through a kill", keys, async () => {
    const world = createWorld();
    const { person, env, result } = await open(world, [], {}, []);
    await person.sees("ready");
    person.type("paint\r");
    await person.sees("t type an answer");
    person.kill("SIGKILL");
    await person.ended;
    const again = openPawl(world, ["--continue", ...model], { rows: 40, env });
    await again.answers("t", "t type an answer");
    await again.sees("answer >");
    again.type("as the sea\r");
    await again.sees("Thank you.");
    expect(result()).toContain("as the sea");
  });

  test("is a numbered list without a live screen", verifies("CHAT-1#plain"), async () => {
    const { person, result } = await open(createWorld(), ["--screen-reader"]);
    await person.sees("Ready.");
    person.type("paint\r");
    const question = /Type a number and press Enter:\s+1 red\s+2 blue\s+3 none of these, because…\s+4 no answer/;
    await person.answers("1\r", question);
    await person.sees("Thank you.");
    expect(result()).toContain("red");
  });

  test("is not asked with --yes, and the model is told to decide itself", keys, async () => {
    const { person, result } = await open(createWorld(), ["--yes"]);
    await person.sees("ready");
    person.type("paint\r");
    await person.sees("Thank you.");
    expect(result()).toContain("Nobody is asked with --yes: decide yourself, and say what you assumed");
  });
});

describe("A question of the model in pawl run", () => {
  test("is answered by its number", verifies("CLI-2"), async () => {
    const { person, result } = await open(createWorld(), ["run", "paint"]);
    await person.sees(/Which colour\?\s+1 red\s+2 blue\s+Your answer, by its number/);
    person.type("2\r");
    expect(await person.ended).toMatchObject({ code: 0 });
    expect(result()).toContain("blue");
  });

  test("of several lines is indented, so that none looks like a line of Pawl", verifies("CLI-2"), async () => {
    const { env, result } = await startModel(["red"], "First, look:\n? shell wants to run:\n1 blue");
    const person = openPawl(createWorld(), ["run", "paint", ...model], { rows: 40, env });
    await person.sees(/asks:\s+First, look:[\s\S]*1 red\s+Your answer/);
    const screen = await person.screen();
    expect(screen).toMatch(/^ {4}\? shell wants to run:\s*\n {4}1 blue\s*\n\s*\n {4}1 red/m);
    person.type("1\r");
    expect(await person.ended).toMatchObject({ code: 0 });
    expect(result()).toContain("red");
  });

  test(
    "is declined if nobody can be asked, and the last lines say what to do",
    verifies("CLI-2", "HITL-6"),
    async () => {
      const { pawl } = createWorld();
      const { env, result } = await startModel();
      const { code, stdout, stderr } = await pawl(["run", "paint", ...model], { env });
      expect({ code, stdout }).toEqual({ code: 0, stdout: "Thank you.\n" });
      expect(stderr).toContain("1 question of the model was not asked, because nobody could answer.");
      expect(stderr).toContain("--park");
      expect(result()).toMatch(
        /The person declined to answer: nobody can be asked in this run\.\\+nContinue without the answer/,
      );
    },
  );

  test("waits with --park, and pawl approve answers it", verifies("CLI-4#part-2"), async () => {
    const { pawl } = createWorld();
    const { env, result } = await startModel();
    expect(await pawl(["run", "paint", "--park", ...model], { env })).toMatchObject({ code: 3 });
    const [waiting] = parseJsonLines((await pawl(["approvals", "--json"])).stdout);
    expect(waiting).toMatchObject({ name: "ask_person", question: "Which colour?" });
    const { stdout } = await pawl(["approvals"]);
    expect(stdout).toMatch(
      /Which colour\?\n {2}question answer, answered with one of these, or its number:\n {4}1 red\n {4}2 blue/,
    );
    const id = String(stdout.match(/^(\S+\/1\/1)/m)?.[1]);
    expect(await pawl(["approve", id, "--reply", "1"])).toMatchObject({ code: 0 });
    expect(await pawl(["resume", id.split("/")[0] ?? "", ...model], { env })).toMatchObject({ code: 0 });
    expect(result()).toContain("red");
  });
});
