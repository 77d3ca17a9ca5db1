/**
 * What a schedule is, as programs give it and as stores keep it.
 */
import type { UserMessage } from "../../core/data/message.js";
import type { RunOptions } from "../../core/machine/event.js";
import { type PostedRun, requireBody, type ScheduleRow } from "../../ports/schedule-store.js";
import type { Input } from "../../runtime/agent/input-parts.js";
import { cutInput } from "../../runtime/api/cut-input.js";

/** When a schedule runs. */
export type ScheduleTime =
  | {
      /** A cron expression of five fields, or of six with seconds first. */
      readonly cron: string;
      readonly everyMs?: never;
      readonly at?: never;
    }
  | {
      /** At intervals of so many milliseconds, from `startAt` on: 1,000 or more. */
      readonly everyMs: number;
      readonly cron?: never;
      readonly at?: never;
    }
  | {
      /** Once: epoch milliseconds, a `Date`, or an ISO 8601 string with a UTC offset. */
      readonly at: number | Date | string;
      readonly cron?: never;
      readonly everyMs?: never;
    };

/** Which agent is asked what, when, and in which session. */
export type Schedule = ScheduleTime & {
  /** 1 to 100 letters, digits, `_`, `.` and `-`. Putting a schedule with the id of another replaces that one. */
  readonly id: string;
  /** The time zone of `cron`: a name of the IANA database. Default: UTC, never that of the machine. */
  readonly timezone?: string;
  /** The name of the agent. A worker that has it carries the runs out. */
  readonly agent: string;
  /** What the agent is asked at each slot. */
  readonly input: Input;
  /** `new`: each slot has a session `ID@SLOT`. `same`: all have one, with the schedule's id. Or the session of this id. Default: `new`. */
  readonly session?:
    | "new"
    | "same"
    | {
        /** The session that all runs go to. */
        readonly id: string;
      };
  /**
   * How a slot is handled while the run of the last one is not over. `skip`: it is left out. `queue`: its run waits (only in one
   * session). `allow`: it runs alongside (only with `new`). Default: `skip`.
   */
  readonly overlap?: "skip" | "queue" | "allow";
  /**
   * How slots are handled that no worker fired in time. `last`: the newest runs. `all`: the newest 100 run (only with `queue` or `allow`).
   * `skip`: none that is more than a minute late. Default: `last`.
   */
  readonly missed?: "last" | "all" | "skip";
  /** A slot is fired up to so many milliseconds late; how many follows from the slot. At most a day. Default: 0. */
  readonly jitterMs?: number;
  /** No slot before this time. For `everyMs`, the first slot; without it, the first slot is one interval from now. */
  readonly startAt?: number | Date | string;
  /** No slot after this time. */
  readonly endAt?: number | Date | string;
  /** A paused schedule runs nothing, and misses nothing. Default: false. */
  readonly paused?: boolean;
  /** The owner of its runs: the `principal` of new sessions. */
  readonly principal?: string;
  /** The folder that new sessions are bound to, as with an agent's `root`. Default: that of the agent. */
  readonly root?: string;
  /** Options of its runs, as in `session.send`. */
  readonly options?: Pick<
    RunOptions,
    "model" | "settings" | "systemPrompt" | "activeTools" | "toolChoice" | "interactive" | "params"
  >;
};

/** A schedule in a store. */
export type ScheduleBody = {
  /** The version of this shape. Absent: 1. */
  readonly v?: number;
  /** When it runs. */
  readonly when:
    | {
        /** The cron expression. */
        readonly cron: string;
      }
    | {
        /** The interval in milliseconds. */
        readonly everyMs: number;
        /** The first slot, in epoch milliseconds. */
        readonly from: number;
      }
    | {
        /** In epoch milliseconds. */
        readonly at: number;
      };
  /** The time zone of the cron expression. */
  readonly timezone: string;
  readonly agent: string;
  readonly input: readonly UserMessage[];
  /** Which sessions its runs go to. */
  readonly session:
    | "new"
    | "same"
    | {
        /** The session that all runs go to. */
        readonly id: string;
      };
  /** How a slot is handled while the last run goes on. */
  readonly overlap: "skip" | "queue" | "allow";
  /** Which missed slots run later. */
  readonly missed: "last" | "all" | "skip";
  /** How late slots may be fired, in milliseconds. */
  readonly jitterMs: number;
  /** No slot is before this time, in epoch milliseconds. */
  readonly startAt?: number;
  /** No slot is after this time, in epoch milliseconds. */
  readonly endAt?: number;
  /** It runs nothing, and misses nothing. */
  readonly paused?: true;
  /** The `principal` of new sessions. */
  readonly principal?: string;
  /** The folder that new sessions are bound to. */
  readonly root?: string;
  /** The options of its runs. */
  readonly options?: RunOptions;
};

/** A schedule in a store, with its next slot and its last run. */
export type ScheduleInfo = ScheduleBody & {
  /** The id of the schedule. */
  readonly id: string;
  /** Goes up with each change. */
  readonly rev: number;
  /** The next slot, in epoch milliseconds; null if there is none, or while the schedule is paused. */
  readonly nextAt: number | null;
  /** The run of the last slot that ran. */
  readonly last?: PostedRun;
};

/** A schedule in a list. A long `input` is cut. */
export type ListedSchedule = ScheduleInfo & {
  /** Present if `input` is cut: the size of the whole input as JSON, in characters. */
  readonly inputSize?: number;
};

/** @throws the row's `error` */
export function toListedSchedule(row: ScheduleRow): ListedSchedule {
  const info = toScheduleInfo(row);
  return { ...info, ...cutInput(info.input) };
}

/** @throws the row's `error` */
export function toScheduleInfo(row: ScheduleRow): ScheduleInfo {
  const { id, rev, slot, last } = row;
  const schedule = requireBody(row) as unknown as ScheduleBody;
  return { ...schedule, id, rev, nextAt: slot, ...(last === undefined ? {} : { last }) };
}
