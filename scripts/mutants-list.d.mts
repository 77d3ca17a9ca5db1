/** One defect, and the check that finds it. */
export type Mutant = {
  readonly name: string;
  readonly file: string;
  readonly find: string;
  readonly replace: string;
  readonly check: "seeds" | "crashes" | "conformance" | "tests";
  /** With the check `tests`: the file that finds it. */
  readonly tests?: string;
};

export declare const mutants: readonly Mutant[];
