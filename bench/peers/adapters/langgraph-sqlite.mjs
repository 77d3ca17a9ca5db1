/**
 * LangGraph with its SQLite checkpointer. It opens WAL itself. The bench sets `synchronous` on the handle that it
 * passes, which is `libsql`. That package has the same calls as better-sqlite3, whose binary npm does not bring
 * without install scripts.
 */
import { join } from "node:path";
import { SqliteSaver } from "@langchain/langgraph-checkpoint-sqlite";
import { openLibsql } from "../sqlite.mjs";
import { open as openGraph } from "./langgraph.mjs";

let files = 0;

export async function open(work, { folder, synchronous }) {
  files += 1;
  const database = openLibsql(join(folder, `langgraph-${files}.db`));
  database.exec(`PRAGMA synchronous = ${synchronous}`);
  const { run } = await openGraph(work, { checkpointer: new SqliteSaver(database) });
  return { run, close: () => database.close() };
}
