import * as ai from "ai-6";
import { openWith } from "./ai.mjs";

export const open = (work) => openWith(ai, work, { version: "v3", system: "system" });
