import * as ai from "ai-7";
import { openWith } from "./ai.mjs";

export const open = (work) => openWith(ai, work, { version: "v4", system: "instructions" });
