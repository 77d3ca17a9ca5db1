/**
 * `pawl/server/client`: reads the streams of a Pawl server, in browsers and in Node. It imports no packages and no built-in modules.
 */
export { type FollowedFrame, type FollowOptions, followSession, StreamRefused } from "./follow.js";
export {
  type ApprovalCount,
  type ByeReason,
  type ControlFrame,
  type DeltaFrame,
  type FamilyFrame,
  type FrameData,
  type ListedSession,
  type ListFrame,
  type LiveSource,
  readFrames,
  type SnapshotFrame,
  type StreamFrame,
} from "./frames.js";
export { createStreamView, type FrameEffect, type PartialMessage, type StreamView } from "./view.js";
