/**
 * A server on a free port of the loopback interface that answers each request with JSON in its body.
 */
import { createServer } from "node:http";

/**
 * @param answer called with the body of each request, and with its response
 * @returns the address of its API, and how to close it
 */
export async function serveLocally(answer) {
  const server = createServer(async (request, response) => {
    let text = "";
    for await (const chunk of request.setEncoding("utf8")) text += chunk;
    await answer(JSON.parse(text), response);
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    baseURL: `http://127.0.0.1:${server.address().port}/v1`,
    close: () =>
      new Promise((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  };
}
