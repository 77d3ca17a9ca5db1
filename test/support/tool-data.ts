/** For a tool that is called without a session. */
import type { ToolData } from "../../src/ports/session-data.js";

const throwNoSession = () => {
  throw new Error("there is no session here");
};

export const noToolData: ToolData = {
  get: throwNoSession,
  all: throwNoSession,
  set: throwNoSession,
  delete: throwNoSession,
  update: throwNoSession,
};
