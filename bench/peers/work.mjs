/**
 * The work that every contender does, and the proof that it was done.
 *
 * The model is one script for all contenders. Its answer follows from the newest tool result alone, so that a loop
 * that drops, repeats or reorders a result never comes to its end. Each answer has five text deltas and one call of
 * `add`; the last one has text only.
 */
const words = ["I ", "will ", "add ", "the ", "numbers."];

export const prompt = "Add the numbers.";
export const systemPrompt = "You add numbers with the tool that you have.";
export const usage = { input: 100, output: 20 };
/** Shared, so that a reference to the waiting work remains. */
export const never = new Promise(() => {});
export const toolDescription = "Adds two numbers.";

/** The input of the tool, for contenders that take JSON Schema. */
export const inputSchema = {
  type: "object",
  properties: { a: { type: "number" }, b: { type: "number" } },
  required: ["a", "b"],
  additionalProperties: false,
};

/**
 * @param steps answers that ask for a call, before the last one
 * @param lastDeltas text deltas of the last answer
 * @param waits the tool never answers
 */
export function createWork({ steps, lastDeltas = 1, waits = false, needsApproval = false, onCall = () => {} }) {
  const last = Array.from({ length: lastDeltas }, () => "word ");
  const counts = { modelCalls: 0, toolCalls: 0, deltas: 0, characters: 0 };
  const forEveryRun = {
    modelCalls: steps + 1,
    toolCalls: steps,
    deltas: steps * words.length + lastDeltas,
    characters: steps * words.join("").length + last.join("").length,
  };
  return {
    steps,
    waits,
    needsApproval,
    counts,
    /** The model's answer after this tool result; null before the first result. */
    answerTo(result) {
      const step = result === null ? 0 : Number(result) - 1;
      if (!Number.isInteger(step)) throw new Error(`The model was given ${JSON.stringify(result)} for a tool result.`);
      onCall(step);
      counts.modelCalls += 1;
      if (step >= steps) return { texts: last, call: null };
      return { texts: words, call: { id: `call_${step}`, name: "add", input: { a: step, b: 2 } } };
    },
    /** The tool's function. */
    add({ a, b }) {
      counts.toolCalls += 1;
      return waits ? never : String(a + b);
    },
    /** A consumer calls this for each text delta that reached it. */
    consume(text) {
      counts.deltas += 1;
      counts.characters += text.length;
    },
    /** Throws unless `runs` whole runs have been done. */
    check(runs) {
      for (const [what, perRun] of Object.entries(forEveryRun))
        if (counts[what] !== perRun * runs)
          throw new Error(`${counts[what]} ${what} in ${runs} runs, ${perRun * runs} were due`);
    },
  };
}
