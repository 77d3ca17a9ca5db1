/**
 * A model server with the interface of OpenAI, whose answers a test says, and stops in the middle.
 */
import { createServer } from "node:http";

/**
 * Each request takes the next answer: `{ status, message }` refuses it, else `{ text, calls }` is streamed. A text may be a
 * list: between its parts the answer waits until `goOn` is called, or for ever if the server of the page is killed.
 */
export async function startModelServer() {
  const answers = [];
  const held = [];
  const server = createServer(async (request, response) => {
    for await (const _ of request);
    response.on("error", () => {});
    if (request.url === "/v1/models") {
      response.setHeader("content-type", "application/json").end(JSON.stringify({ data: [{ id: "scripted" }] }));
      return;
    }
    const answer = answers.shift() ?? { status: 500, message: "The test has no more answers." };
    if (answer.status !== undefined) {
      response.writeHead(answer.status, { "content-type": "application/json" });
      response.end(JSON.stringify({ error: { message: answer.message, type: "error" } }));
      return;
    }
    await stream(answer, response, () => new Promise((goOn) => held.push(goOn)));
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${server.address().port}/v1`,
    say: (...more) => void answers.push(...more),
    goOn: () => void held.shift()?.(),
    close() {
      server.close();
      server.closeAllConnections();
    },
  };
}

async function stream({ text = [], calls = [] }, response, hold) {
  response.writeHead(200, { "content-type": "text/event-stream" });
  const write = (delta, finish = null) =>
    response.write(
      `data: ${JSON.stringify({ id: "1", object: "chat.completion.chunk", created: 1, model: "scripted", choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`,
    );
  for (const [index, part] of [text].flat().entries()) {
    if (index > 0) await hold();
    for (const word of part.split(/(?<=\s)/)) write({ role: "assistant", content: word });
  }
  const made = calls.map(([name, input], index) => ({
    index,
    id: `call-${index}`,
    type: "function",
    function: { name, arguments: JSON.stringify(input) },
  }));
  if (made.length > 0) write({ role: "assistant", tool_calls: made });
  write({}, made.length > 0 ? "tool_calls" : "stop");
  response.end("data: [DONE]\n\n");
}
