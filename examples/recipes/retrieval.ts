/**
 * Retrieval as a tool: the model searches your documents, and an answer that cites what was not found is sent back.
 */
import assert from "node:assert/strict";
import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createAgent, defineTool, type Hook } from "pawl";
import { createScriptedModel } from "pawl/testing";

type Passage = { readonly id: string; readonly text: string };
type Index = { readonly search: (query: string, limit: number) => Promise<readonly Passage[]> };

/** Ranks passages by the words that they share with the query (BM25). Put your vector store in its place. */
async function indexFolder(folder: string): Promise<Index> {
  const passages: { readonly id: string; readonly text: string; readonly words: readonly string[] }[] = [];
  for (const file of await readdir(folder)) {
    const text = await readFile(join(folder, file), "utf8");
    for (const [number, part] of text.split(/\n{2,}/).entries())
      passages.push({ id: `${file}#${number + 1}`, text: part, words: wordsOf(part) });
  }
  const usual = passages.reduce((sum, { words }) => sum + words.length, 0) / Math.max(1, passages.length);
  const having = (word: string) => passages.filter(({ words }) => words.includes(word)).length;
  const scoreOf = (words: readonly string[], word: string): number => {
    const count = words.filter((one) => one === word).length;
    const rarity = Math.log(1 + (passages.length - having(word) + 0.5) / (having(word) + 0.5));
    return (rarity * (count * 2.2)) / (count + 1.2 * (0.25 + (0.75 * words.length) / usual));
  };
  return {
    async search(query, limit) {
      const asked = [...new Set(wordsOf(query))];
      return passages
        .map(({ id, text, words }) => ({ id, text, score: asked.reduce((sum, word) => sum + scoreOf(words, word), 0) }))
        .filter(({ score }) => score > 0)
        .sort((a, b) => b.score - a.score)
        .slice(0, limit)
        .map(({ id, text }) => ({ id, text }));
    },
  };
}

function wordsOf(text: string): readonly string[] {
  return text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];
}

function createSearchTool(index: Index) {
  return defineTool({
    name: "search_handbook",
    description: "Finds passages of the handbook. Ask with the words that the passage may have.",
    input: {
      type: "object",
      properties: { query: { type: "string", maxLength: 500 } },
      required: ["query"],
      additionalProperties: false,
    },
    readOnly: true, // it runs without an approval, and again after a crash
    maxOutputBytes: 16_384,
    async execute({ query }, { data }) {
      const passages = await index.search(String(query), 4);
      data.update("found", (found) => [...new Set([...idsIn(found), ...passages.map(({ id }) => id)])].slice(-500));
      return passages;
    },
  });
}

function idsIn(found: unknown): readonly string[] {
  return Array.isArray(found) ? found.map(String) : [];
}

const prompt =
  "Answer by the handbook only. Search before you answer. Cite each passage as [file.md#1], and say so if nothing was found.";

/** An answer may cite only what a search has given. Otherwise the model is told, and tries again. */
const checkCitations: Hook = {
  name: "citations",
  beforeStop({ text, mayGoOn }, { data }) {
    const cited = [...text.matchAll(/\[([^\]\s]+#\d+)\]/g)].map(([, id = ""]) => id);
    const wrong = cited.filter((id) => !idsIn(data.found).includes(id));
    if (wrong.length === 0) return undefined;
    if (!mayGoOn) return { refuse: `The answer cites ${wrong.join(", ")}, which no search has found.` };
    return { message: `You cite ${wrong.join(", ")}, which no search has found. Search again, or leave it out.` };
  },
};

// The check: a model that first cites a passage that it has not seen.
await mkdir("handbook");
await writeFile("handbook/returns.md", "# Returns\n\nA lamp can be sent back within 30 days.\n\nWe pay the postage.");
await writeFile("handbook/delivery.md", "# Delivery\n\nA lamp takes three days.\n\nAbroad it takes eight.");
const model = createScriptedModel(({ messages, modelCallIndex }) => {
  if (modelCallIndex === 1) return { calls: [{ name: "search_handbook", input: { query: "send a lamp back" } }] };
  if (JSON.stringify(messages.at(-1)).includes("You cite")) return { text: "Within 30 days [returns.md#2]." };
  return { text: "Within 30 days [terms.md#4]." };
});
const agent = createAgent({
  name: "handbook",
  model,
  systemPrompt: prompt,
  tools: [createSearchTool(await indexFolder("handbook"))],
  hooks: [checkCitations],
});
const result = await agent.run("How long can I send a lamp back?");
console.log(result.status, "-", result.text);
assert.equal(result.text, "Within 30 days [returns.md#2].");
assert.match(JSON.stringify(model.requests[1]?.messages), /returns\.md#2.*sent back within 30 days/);

// A model that insists is refused: nobody gets an answer with a source that nobody has seen.
const stubborn = createScriptedModel(() => ({ text: "Within 90 days [terms.md#4]." }));
const refused = await agent.with({ model: stubborn }).run("How long can I send a lamp back?");
assert.equal(refused.status === "failed" && refused.reason, "output_refused");
console.log(refused.status === "failed" && refused.error?.message);
