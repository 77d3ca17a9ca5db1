/**
 * `pawl eval` and `pawl eval add`: a recorded session becomes a case, which is played and judged.
 */
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { describe, expect, test } from "vitest";
import { verifies } from "../verifies.js";
import { createWorld, parseJsonLines, type World } from "./pawl.js";

const dist = pathToFileURL(fileURLToPath(new URL("../../dist/", import.meta.url))).href;

/** A desk whose tool writes a file, so that each real call is seen. Its prompt decides whether it looks an order up. */
const desk = `
import { appendFileSync } from "node:fs";
import { createAgent, defineTool } from "${dist}index.js";

const model = {
  id: "scripted",
  async *stream({ messages, systemPrompt }) {
    const last = messages.at(-1);
    const isOver = last.role === "tool" || !systemPrompt.includes("Look the order up");
    if (isOver) {
      const { name = "Somebody", mail = "nobody" } = last.role === "tool" ? last.parts[0].output.value : {};
      yield { kind: "text-start", id: "1" };
      yield { kind: "text-delta", id: "1", text: name + "'s order is on its way to " + mail + "." };
      yield { kind: "text-end", id: "1" };
    } else yield { kind: "tool-call", id: "c", name: "look_up", input: '{"order":7}' };
    yield { kind: "done", finishReason: { unified: isOver ? "stop" : "tool-calls" }, usage: { inputTokens: 10, outputTokens: 5 } };
  },
};
const lookUp = defineTool({
  name: "look_up",
  description: "Looks an order up.",
  input: { type: "object", properties: { order: { type: "integer" } }, required: ["order"] },
  execute: () => {
    appendFileSync("calls.txt", "x");
    return { name: "Ada", mail: "ada@example.org" };
  },
});
export const createDesk = (store) =>
  createAgent({ name: "desk", model, tools: [lookUp], systemPrompt: "Look the order up.", ...(store && { store }) });
`;

const record = `
import { openSqliteStore } from "${dist}stores/sqlite/index.js";
import { createDesk } from "./desk.mjs";
const store = await openSqliteStore({ path: process.argv[2] });
await createDesk(store).run("Where is my order?", { sessionId: "customer-7" });
await store.close();
`;

const evalFile = (changes: string) => `
import { calls, defineEval, inRecord, sameAnswer, sameCalls, sameEnd } from "${dist}evals/index.js";
import { createDesk } from "../desk.mjs";
export default defineEval({
  name: "desk",
  agent: createDesk().with(${changes}),
  cases: "cases",
  judges: [sameEnd(), inRecord(), sameCalls(), sameAnswer(), calls("look_up", { order: 7 })],
});
`;

/** The files of the recorded session, from the first world: recording takes two processes. */
let recorded: ReadonlyMap<string, Buffer> | null = null;

async function recordSession({ home, pawl, startNode }: World): Promise<ReadonlyMap<string, Buffer>> {
  await pawl(["sessions"]);
  const { code, stderr } = await startNode("record.mjs", [join(home, "sessions.db")]).ended;
  if (code !== 0) throw new Error(stderr);
  return new Map(readdirSync(home).map((name) => [name, readFileSync(join(home, name))]));
}

async function createDeskWorld(): Promise<World> {
  const world = createWorld({ "desk.mjs": desk, "record.mjs": record, "evals/desk.eval.mjs": evalFile("{}") });
  recorded ??= await recordSession(world);
  mkdirSync(world.home, { recursive: true, mode: 0o700 });
  for (const [name, bytes] of recorded) writeFileSync(join(world.home, name), bytes);
  writeFileSync(join(world.root, "calls.txt"), "");
  return world;
}

const countCalls = ({ root }: World) => readFileSync(join(root, "calls.txt"), "utf8").length;

describe("pawl eval", verifies("EVAL-1#case", "EVAL-2#command"), () => {
  test("plays a recorded session, runs no tool, and asks no model twice", async () => {
    const world = await createDeskWorld();
    const added = await world.pawl([
      "eval",
      "add",
      "customer-7",
      "--name",
      "order",
      "--hide",
      "name",
      "--tag",
      "orders",
    ]);
    expect(added).toMatchObject({ code: 0, stderr: "" });
    expect(added.stdout).toMatch(/^Wrote evals\/cases\/order\.json: 1 request, 2 model calls, 1 result\./);
    const text = readFileSync(join(world.root, "evals/cases/order.json"), "utf8");
    expect(text).not.toMatch(/Ada|ada@/);
    const first = await world.pawl(["eval"]);
    expect(first).toMatchObject({ code: 0, stderr: "" });
    expect(first.stdout).toContain("agent: 1 of 1 passed");
    expect(first.stdout).toContain("for 2 model calls; 0 answers kept from before.");
    const again = await world.pawl(["eval", "--offline", "--case", "orders"]);
    expect(again.stdout).toContain("for 0 model calls; 2 answers kept from before.");
    const fresh = await world.pawl(["eval", "--fresh"]);
    expect(fresh.stdout).toContain("for 2 model calls; 0 answers kept from before.");
    expect(countCalls(world)).toBe(0);
  });

  test("says how many files a case has, because nothing in them is replaced", async () => {
    const world = await createDeskWorld();
    const withFile = record
      .replace('"Where is my order?"', '[{ type: "text", text: "And this?" }, file]')
      .replace('"customer-7"', '"pictured"')
      .replace("const store", 'const file = { type: "file", mediaType: "image/png", data: "aGVsbG8=" };\nconst store');
    writeFileSync(join(world.root, "file.mjs"), withFile);
    expect((await world.startNode("file.mjs", [join(world.home, "sessions.db")]).ended).stderr).toBe("");
    const { stdout } = await world.pawl(["eval", "add", "pictured", "--name", "pictured"]);
    expect(stdout).toContain("The case contains 1 file of requests and results, as base64: nothing in them is");
    expect(readFileSync(join(world.root, "evals/cases/pictured.json"), "utf8")).toContain("aGVsbG8=");
  });

  test("ends with 5 if the agent no longer does what was recorded, and says what differs", async () => {
    const world = await createDeskWorld();
    await world.pawl(["eval", "add", "customer-7", "--name", "order"]);
    const saved = await world.pawl(["eval", "--save", "baseline", "--junit", "junit.xml"]);
    expect(saved.code).toBe(0);
    expect(saved.stdout).toMatch(/\nPassed\.\n$/);
    expect(saved.stderr).toBe("Wrote evals/baseline/desk.json.\nWrote junit.xml.\n");
    expect(readFileSync(join(world.root, "junit.xml"), "utf8")).toContain('tests="1" failures="0"');
    writeFileSync(join(world.root, "evals/desk.eval.mjs"), evalFile('{ systemPrompt: "Be quick." }'));
    const strict = await world.pawl(["eval", "--strict", "--json"]);
    expect(strict.code).toBe(5);
    const [report] = parseJsonLines(strict.stdout);
    expect(report.variants.agent).toMatchObject({ passed: 0, trials: 1, newlyFailing: ["order"] });
    expect(report.trials[0].scores.sameCalls.why).toBe('call 1: desk/look_up {"order":7} ok, now none');
    expect(report.exitCode).toBe(5);
    // Saved as the baseline, the failure still fails: one case cannot show that nothing became worse.
    await world.pawl(["eval", "--save", "baseline"]);
    const compared = await world.pawl(["eval", "--junit", "junit.xml"]);
    expect(compared.code).toBe(5);
    expect(compared.stdout).toMatch(
      /\n1 case in common with the baseline cannot show more than chance: .*\nFailed: 1 of 1 trial failed\.\n$/,
    );
    expect(readFileSync(join(world.root, "junit.xml"), "utf8")).toContain('tests="1" failures="1"');
    expect(countCalls(world)).toBe(0);
  });

  test("asks no model once the budget is spent, and says how many trials it left out", async () => {
    const world = await createDeskWorld();
    await world.pawl(["eval", "add", "customer-7", "--name", "order"]);
    const { code, stdout } = await world.pawl(["eval", "--offline"]);
    expect(code).toBe(4);
    expect(stdout).toMatch(
      /\n1 trial omitted because of the budget\.\nIncomplete: run it again with a larger budget\./,
    );
  });

  test("keeps the reports of evals apart whose names look alike in file names", async () => {
    const world = await createDeskWorld();
    await world.pawl(["eval", "add", "customer-7", "--name", "order"]);
    const named = (name: string) => evalFile("{}").replace('name: "desk"', `name: ${JSON.stringify(name)}`);
    writeFileSync(join(world.root, "evals/desk.eval.mjs"), named("desk: fast"));
    writeFileSync(join(world.root, "evals/other.eval.mjs"), named("desk/fast"));
    writeFileSync(join(world.root, "evals/long.eval.mjs"), named("x".repeat(300)));
    const played = await world.pawl(["eval", "--keep-logs", "--junit", "all.xml"]);
    expect(played).toMatchObject({ code: 0, stderr: "Wrote all.xml.\n" });
    expect(readFileSync(join(world.root, "all.xml"), "utf8").match(/<testsuite /g)).toHaveLength(3);
    const files = readdirSync(join(world.home, "evals"));
    expect(files.map((file) => file.replace(/-[0-9a-f]{12}\.json$/, "")).sort()).toEqual([
      "desk-fast",
      "desk-fast",
      "x".repeat(60),
    ]);
  });

  test("watches the folder, and plays again when a file changes, but not when the agent's store does", async () => {
    const world = await createDeskWorld();
    await world.pawl(["eval", "add", "customer-7", "--name", "order"]);
    const opening = `import { openSqliteStore } from "${dist}stores/sqlite/index.js";\nawait openSqliteStore({ path: "agent.db" });\n`;
    writeFileSync(join(world.root, "desk.mjs"), `${opening}${desk}`);
    const watching = world.start(["eval", "--watch"]);
    await watching.said("agent: 1 of 1 passed");
    await watching.said("Waiting for a change.");
    writeFileSync(join(world.root, "evals/desk.eval.mjs"), evalFile('{ systemPrompt: "Be quick." }'));
    await watching.said("agent: 0 of 1 passed");
    await watching.said(/Waiting for a change\.[\s\S]*Waiting for a change\./);
    watching.kill("SIGINT");
    const { code, stderr } = await watching.ended;
    expect([code, stderr.match(/Playing the evals\./g)?.length]).toEqual([0, 2]);
    const looping = await world.pawl(["eval", "--watch", "--save", "baseline"]);
    expect([looping.code, looping.stderr]).toEqual([2, expect.stringContaining("--save")]);
  });

  test("refuses what it cannot play, and says what to do", async () => {
    const world = await createDeskWorld();
    const refused = async (args: readonly string[], message: string) => {
      const { code, stderr } = await world.pawl(args);
      expect([code, stderr]).toEqual([2, expect.stringContaining(message)]);
    };
    await refused(["eval"], "The folder of cases");
    await refused(["eval", "evals/other.eval.mjs"], "There is no file evals/other.eval.mjs.");
    await refused(["eval", "desk.mjs"], "does not export an eval");
    writeFileSync(join(world.root, "broken.eval.mjs"), "const fine = 1;\nconst = 2;\n");
    await refused(["eval", "broken.eval.mjs"], "broken.eval.mjs could not be loaded: SyntaxError: ");
    await refused(["eval", "broken.eval.mjs"], "(broken.eval.mjs, line 2).");
    writeFileSync(join(world.root, "throws.eval.mjs"), 'throw new Error("boom");\n');
    await refused(["eval", "throws.eval.mjs"], "could not be loaded: Error: boom (throws.eval.mjs, line 1).");
    const misses = `import { defineEval } from "${dist}evals/index.js";\n\nexport default defineEval({ name: "desk" });\n`;
    writeFileSync(join(world.root, "misses.eval.mjs"), misses);
    await refused(["eval", "misses.eval.mjs"], "defineEval() needs the option agent. (misses.eval.mjs, line 3).");
    writeFileSync(join(world.root, "agent.ts"), "export {};\n");
    writeFileSync(join(world.root, "source.eval.mjs"), 'import "./agent.js";\n');
    await refused(
      ["eval", "source.eval.mjs"],
      "agent.js is missing, but there is a .ts file of that name. Compile first",
    );
    await refused(["eval", "add", "nobody"], "no session");
    await refused(["eval", "add", "customer-7", "--at", "99"], "has no entry 99");
    await refused(["eval", "add", "customer-7", "--name", "../x"], "cannot be the name of a case");
    await refused(["eval", "add", "customer-7", "--outside", "calendar_*"], 'no tool "calendar_*"');
    await world.pawl(["eval", "add", "customer-7", "--name", "order"]);
    await refused(["eval", "add", "customer-7", "--name", "order"], "already exists");
    await refused(["eval", "--case", "others"], "No case has the name or tag");
    expect(existsSync(join(world.root, ".pawl"))).toBe(false);
  });
});
