/**
 * The options of a conversation, and the dependencies that its talks share.
 */
import type { Store } from "../../index.js";
import type { FolderAgentFlags } from "../agent/agent-choices.js";
import type { Terminal } from "../terminal/terminal.js";
import type { BackgroundNotifier } from "./background-notifier.js";
import type { Front } from "./fronts/front.js";
import type { ServerManager } from "./server-manager.js";

export type ConversationOptions = FolderAgentFlags & {
  readonly model?: string;
  /** How long to wait for the first chunk of a response; milliseconds. */
  readonly timeout?: number;
  readonly root?: string;
  readonly session?: string;
  readonly continue?: true;
  readonly screenReader?: boolean;
};

/** Shared by all talks of a conversation. */
export type ConversationDeps = {
  readonly front: Front;
  readonly store: Store;
  readonly loss: string | null;
  readonly home: string;
  readonly root: string;
  readonly version: string;
  readonly terminal: Terminal;
  readonly options: ConversationOptions;
  readonly background: BackgroundNotifier;
  readonly servers: ServerManager;
};
