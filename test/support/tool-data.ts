/** For a tool that is called without a session. */
import type { ToolData } from "../../src/ports/session-data.js";

const refuse = () => {
  throw new Error("there is no session here");
};

export const noToolData: ToolData = { get: refuse, all: refuse, set: refuse, delete: refuse, update: refuse };
