/**
 * Events that the format of the log reserves: this version reads them and never writes them. A later version of Pawl
 * gives each its meaning without another format number. Until then each is stale in every state, so this version cannot
 * fold a log that holds one.
 */
import type { FileChange } from "../data/message.js";

/** A rule that allows, asks or denies calls: what it is about, and how far it reaches. */
export type PermissionRule = {
  /** What the rule says. */
  readonly verdict: "allow" | "ask" | "deny";
  /** What the pattern is compared with. */
  readonly kind: "tool" | "command" | "path" | "domain";
  /** The rule as it is written: at most 1,000 characters. */
  readonly pattern: string;
  /** `folder`: it stands in a file of the folder. `option`: it holds in one process. */
  readonly scope: "session" | "project" | "user" | "folder" | "option";
};

type BlobRef = {
  readonly blob: string;
  /** Its size in bytes. */
  readonly bytes: number;
};

export type ReservedEventBody =
  /** Rules of this session were added or taken away; a fork does not copy them. */
  | {
      readonly type: "rules_changed";
      /** Rules that hold from now on. */
      readonly added?: readonly PermissionRule[];
      /** Rules that no longer hold. */
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
      /** Its number on its host. */
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
      /** What it wrote. */
      readonly output?: BlobRef;
    }
  /** Files that tools wrote are about to be brought back, or brought forward again. */
  | {
      readonly type: "files_restoring";
      /** The id of this undo or redo. */
      readonly restoreId: string;
      /** Whether files are brought back or forward again. */
      readonly direction: "undo" | "redo";
      /** The files and their contents. */
      readonly files: readonly FileChange[];
      readonly by?: string;
    }
  /** Files were brought back, or forward again. */
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
