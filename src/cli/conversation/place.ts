/**
 * What a conversation is started with, and where it takes place.
 */
import type { Store } from "../../index.js";
import type { FolderOptions } from "../folder-agent.js";
import type { Terminal } from "../terminal.js";
import type { Background } from "./background-processes.js";
import type { Front } from "./front.js";
import type { PresentServers } from "./present-servers.js";

export type ConversationOptions = FolderOptions & {
  readonly model?: string;
  /** How long to wait for the beginning of an answer; milliseconds. */
  readonly timeout?: number;
  readonly root?: string;
  readonly session?: string;
  readonly continue?: true;
  readonly screenReader?: boolean;
};

/** What all talks of a conversation have in common. */
export type Place = {
  readonly front: Front;
  readonly store: Store;
  readonly loss: string | null;
  readonly home: string;
  readonly root: string;
  readonly version: string;
  readonly terminal: Terminal;
  readonly options: ConversationOptions;
  readonly background: Background;
  readonly servers: PresentServers;
};
