/**
 * Schedules, as programs pass them and as stores keep them.
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
      /** The interval in milliseconds, from `startAt` on. At least 1,000. */
      readonly everyMs: number;
      readonly cron?: never;
      readonly at?: never;
    }
  | {
      /** Runs once, at this time: epoch milliseconds, a `Date`, or an ISO 8601 string with a UTC offset. */
      readonly at: number | Date | string;
      readonly cron?: never;
      readonly everyMs?: never;
    };

/** A schedule: an agent, an input, the times at which it is sent, and the sessions that it is sent to. */
export type Schedule = ScheduleTime & {
  /** 1 to 100 letters, digits, `_`, `.` and `-`. Putting a schedule replaces the one with the same id. */
  readonly id: string;
  /** The time zone of `cron`, by its IANA name. Default: UTC, never the machine's time zone. */
  readonly timezone?: string;
  /** The name of the agent. A worker that has this agent drives the runs. */
  readonly agent: string;
  /** The input that the agent gets at each slot. */
  readonly input: Input;
  /** `new`: each slot has its own session `ID@SLOT`. `same`: all slots share one, named by the schedule's id. Default: `new`. */
  readonly session?:
    | "new"
    | "same"
    | {
        /** The session that all runs go to. */
        readonly id: string;
      };
  /**
   * How a slot is handled while the previous slot's run has not ended. `skip`: the slot is skipped. `queue`: its run waits (not with
   * session `new`). `allow`: it runs concurrently (only with `new`). Default: `skip`.
   */
  readonly overlap?: "skip" | "queue" | "allow";
  /**
   * How slots are handled that no worker fired in time. `last`: the newest one runs. `all`: the newest 100 run (only with `queue` or
   * `allow`). `skip`: a slot that is more than a minute late does not run. Default: `last`.
   */
  readonly missed?: "last" | "all" | "skip";
  /** The maximum delay of a slot, in milliseconds. Each slot's delay is a hash of its time. At most a day. Default: 0. */
  readonly jitterMs?: number;
  /** There is no slot before this time. For `everyMs`, it is the first slot; by default, the first slot is one interval from now. */
  readonly startAt?: number | Date | string;
  /** There is no slot after this time. */
  readonly endAt?: number | Date | string;
  /** Whether the schedule is paused. Slots during a pause are not run, and do not count as missed. Default: false. */
  readonly paused?: boolean;
  /** The owner of its runs: the `principal` of new sessions. */
  readonly principal?: string;
  /** The folder that new sessions are bound to, like an agent's `root`. Default: the agent's `root`. */
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
  /** When the schedule runs. */
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
        /** The only slot, in epoch milliseconds. */
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
  /** How a slot is handled while the last run has not ended. */
  readonly overlap: "skip" | "queue" | "allow";
  /** Which missed slots run later. */
  readonly missed: "last" | "all" | "skip";
  /** The maximum delay of a slot, in milliseconds. */
  readonly jitterMs: number;
  /** No slot is before this time, in epoch milliseconds. */
  readonly startAt?: number;
  /** No slot is after this time, in epoch milliseconds. */
  readonly endAt?: number;
  /** The schedule is paused: slots are not run, and do not count as missed. */
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
  /** The revision, which goes up with each change. */
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
