/**
 * The floor: the least code that does the same work. Async generators; no validation, no hooks, no limits.
 */
import { prompt } from "../work.mjs";

export async function* stream(work, messages) {
  const newest = messages.at(-1);
  const { texts, call } = work.answerTo(newest.role === "tool" ? newest.content : null);
  for (const text of texts) yield { type: "text", text };
  if (call !== null) yield { type: "call", id: call.id, name: call.name, input: JSON.stringify(call.input) };
}

/** The floor with a bare SQLite passes `commit(step)`; the plain floor does not. */
export async function* loop(work, tools, commit) {
  const messages = [{ role: "user", content: prompt }];
  for (;;) {
    let text = "";
    const calls = [];
    for await (const delta of stream(work, messages)) {
      if (delta.type === "text") text += delta.text;
      else calls.push(delta);
      yield delta;
    }
    messages.push({ role: "assistant", content: text, calls });
    commit?.();
    if (calls.length === 0) return;
    const results = await Promise.all(calls.map(async (call) => tools[call.name](JSON.parse(call.input))));
    results.forEach((content, index) => {
      messages.push({ role: "tool", id: calls[index].id, content });
    });
    commit?.();
  }
}

export async function open(work) {
  const tools = { add: (input) => work.add(input) };
  return {
    async run() {
      for await (const delta of loop(work, tools)) if (delta.type === "text") work.consume(delta.text);
    },
  };
}
