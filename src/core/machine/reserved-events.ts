/**
 * Events that the format of the log reserves: this version reads them and never writes them. A later version of Pawl
 * can give each a meaning without a new format number. Until then each is stale in every state, so this version cannot
 * fold a log that holds one.
 */
import type { FileChange } from "../data/message.js";

/** A rule that allows, asks or denies calls: what it matches, and where it applies. */
export type PermissionRule = {
  /** The verdict of the rule. */
  readonly verdict: "allow" | "ask" | "deny";
  /** The kind of text that the pattern is matched against. */
  readonly kind: "tool" | "command" | "path" | "domain";
  /** The rule as it is written: at most 1,000 characters. */
  readonly pattern: string;
  /** `folder`: it is written in a file of the folder. `option`: it applies to one process. */
  readonly scope: "session" | "project" | "user" | "folder" | "option";
};

type BlobRef = {
  readonly blob: string;
  /** Its size in bytes. */
  readonly bytes: number;
};

export type ReservedEventBody =
  /** Rules of this session were added or removed; a fork does not copy them. */
  | {
      readonly type: "rules_changed";
      /** Rules that apply from now on. */
      readonly added?: readonly PermissionRule[];
      /** Rules that no longer apply. */
      readonly removed?: readonly PermissionRule[];
      readonly by?: string;
      readonly callKey?: string;
    }
  /** A process that outlives its call. */
  | {
      readonly type: "process_started";
      /** The id of the process. */
      readonly processId: string;
      readonly callKey: string;
      /** Its process id on its host. */
      readonly pid: number;
      readonly startedAt: number;
    }
  /** A process that outlived its call ended. */
  | {
      readonly type: "process_finished";
      /** The id of the process. */
      readonly processId: string;
      /** `unknown`: a restart found that the process was gone. */
      readonly outcome: "exited" | "killed" | "unknown";
      /** Its exit code. */
      readonly exitCode?: number;
      readonly signal?: string;
      /** Its output. */
      readonly output?: BlobRef;
    }
  /** Files that tools wrote are about to be restored (undo), or written again (redo). */
  | {
      readonly type: "files_restoring";
      /** The id of this undo or redo. */
      readonly restoreId: string;
      /** Whether files are restored or written again. */
      readonly direction: "undo" | "redo";
      /** The files and their contents. */
      readonly files: readonly FileChange[];
      readonly by?: string;
    }
  /** Files were restored, or written again. */
  | {
      readonly type: "files_restored";
      /** The id of the undo or redo that ended. */
      readonly restoreId: string;
      /** The paths of the files that were written. */
      readonly restored: readonly string[];
      /** The files that were left as they are. */
      readonly conflicts: readonly {
        /** The path of the file. */
        readonly path: string;
        /** Why it was left. */
        readonly reason: string;
      }[];
    };

export type ReservedEventType = ReservedEventBody["type"];
