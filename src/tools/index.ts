/**
 * Tools: ready-made ones for files and commands, and what makes others.
 */
export type {
  AiSdkSchema,
  AnyTool,
  InputSchema,
  Reconciled,
  RecoverOption,
  Tool,
  ToolContext,
  ToolOutput,
} from "../ports/tool.js";
export { defineTool, type InputOf } from "./define.js";
export { createFileTools, type FileToolsOptions } from "./files.js";
export { detectSandbox, type Sandbox } from "./sandbox.js";
export { createShellTool, type ShellToolOptions } from "./shell.js";
