/** How the scripts compile code of the pages against the built package, and read its declarations. */
import ts from "typescript";

/** As a program of today is compiled: strict, ES modules of Node, and nothing written. */
export const programOptions = {
  module: ts.ModuleKind.NodeNext,
  target: ts.ScriptTarget.ES2023,
  lib: ["lib.es2023.d.ts"],
  types: ["node"],
  strict: true,
  skipLibCheck: true,
  noEmit: true,
};
