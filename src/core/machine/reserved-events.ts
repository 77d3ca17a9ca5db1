/**
 * Events that the format of the log reserves: this version reads them and never writes them. A later version of Pawl
 * gives each its meaning without another format number. Until then each is stale in every state, so this version cannot
 * fold a log that holds one.
 */
import type { FileChange } from "../data/message.js";
import type { ModelSettings } from "../data/model-settings.js";
import type { RunLimits } from "./run-limits.js";

/** A rule that allows, asks or denies calls: what it is about, and how far it reaches. */
export type PermissionRule = {
  readonly verdict: "allow" | "ask" | "deny";
  readonly kind: "tool" | "command" | "path" | "domain";
  readonly pattern: string;
  readonly scope: "session" | "project" | "user";
};

type BlobRef = { readonly blob: string; readonly bytes: number };

export type ReservedEventBody =
  /** A person changed something that holds from the next model call on. */
  | {
      readonly type: "session_changed";
      readonly title?: string;
      readonly model?: string;
      readonly settings?: ModelSettings | null;
      readonly limits?: Partial<RunLimits>;
      readonly by?: string;
    }
  /** Rules of this session were added or taken away; a fork does not copy them. */
  | {
      readonly type: "rules_changed";
      readonly added?: readonly PermissionRule[];
      readonly removed?: readonly PermissionRule[];
      readonly by?: string;
      readonly callKey?: string;
    }
  /** A person asked for a compaction, also in a session at rest. */
  | { readonly type: "compaction_requested"; readonly keep?: string; readonly by?: string }
  /** A process that outlives its call. */
  | {
      readonly type: "process_started";
      readonly processId: string;
      readonly callKey: string;
      readonly pid: number;
      readonly startedAt: number;
    }
  | {
      readonly type: "process_finished";
      readonly processId: string;
      /** `unknown`: a restart found that the process was gone. */
      readonly outcome: "exited" | "killed" | "unknown";
      readonly exitCode?: number;
      readonly signal?: string;
      readonly output?: BlobRef;
    }
  /** Files that tools wrote are about to be brought back, or brought forward again. */
  | {
      readonly type: "files_restoring";
      readonly restoreId: string;
      readonly direction: "undo" | "redo";
      readonly files: readonly FileChange[];
      readonly by?: string;
    }
  | {
      readonly type: "files_restored";
      readonly restoreId: string;
      readonly restored: readonly string[];
      readonly conflicts: readonly { readonly path: string; readonly reason: string }[];
    };

export type ReservedEventType = ReservedEventBody["type"];
