/**
 * The model of `bench -- terminal`: a local server that plays answers one after the other, then only short ones. It runs in
 * a thread, and posts its address, and then a message for each answer that was given.
 */
import { createServer } from "node:http";
import { parentPort, workerData } from "node:worker_threads";

const waiting = [...workerData];
const server = createServer((request, response) => {
  request.resume().on("end", () => {
    // The program also asks for the list of models, which must not use up an answer.
    if (request.method !== "POST") return response.writeHead(404).end();
    response.setHeader("content-type", "text/event-stream");
    const { text: whole = "Done.", calls = [] } = waiting.shift() ?? {};
    const send = (delta, finish_reason = null) =>
      response.write(`data: ${JSON.stringify({ id: "a", choices: [{ index: 0, delta, finish_reason }] })}\n\n`);
    for (let at = 0; at < whole.length; at += 200) send({ content: whole.slice(at, at + 200) });
    calls.forEach((call, index) => void send({ tool_calls: [{ index, id: `call_${index}`, function: call }] }));
    send({}, calls.length === 0 ? "stop" : "tool_calls");
    response.on("finish", () => parentPort.postMessage("given"));
    response.end("data: [DONE]\n\n");
  });
});
server.listen(0, "127.0.0.1", () => parentPort.postMessage(`http://127.0.0.1:${server.address().port}/v1`));
