/**
 * The page and its agent on one address. The chat itself is one import: createServer of pawl/server.
 */
import { createServer as createHttpServer } from "node:http";
import { createServer } from "pawl/server";
import { openAgent } from "./agent.js";
import { servePage, visitorOf } from "./site.js";

const { agent, store, why, uiTools } = await openAgent();
const chats = createServer({ store, agents: [agent], authenticate: visitorOf, uiTools });
const page = servePage();

const http = createHttpServer(chats.httpOptions, (request, response) => {
  if (request.url?.startsWith("/v1/") === true) chats.listener(request, response);
  else page(request, response);
});

const port = Number(process.env.PORT ?? 4173);
http.listen(port, "127.0.0.1", () => console.log(`${why}\nOpen http://127.0.0.1:${port}`));

process.once("SIGTERM", stop);
process.once("SIGINT", stop);

async function stop() {
  await chats.close();
  http.close();
  http.closeAllConnections();
  await store.close();
}
