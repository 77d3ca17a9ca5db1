/**
 * Events that the log format reserves: this version reads them but never writes them. A later version of Pawl can give them a meaning
 * without a new format number. Until then they are stale in every state, so this version cannot fold a log that contains one.
 */
import type { FileChange } from "../data/message.js";

/** A rule that allows, asks or denies calls: what it matches, and where it applies. */
export type PermissionRule = {
  /** The verdict of the rule. */
  readonly verdict: "allow" | "ask" | "deny";
  /** What the pattern is matched against. */
  readonly kind: "tool" | "command" | "path" | "domain";
  /** The pattern, as written: at most 1,000 characters. */
  readonly pattern: string;
  /** Where the rule comes from. `folder`: a file in the folder. `option`: an option of one process. */
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
      /** Whether the files are restored or written again. */
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
      /** The files that were not changed. */
      readonly conflicts: readonly {
        /** The path of the file. */
        readonly path: string;
        /** Why the file was not changed. */
        readonly reason: string;
      }[];
    };

export type ReservedEventType = ReservedEventBody["type"];
