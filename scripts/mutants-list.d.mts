/** One defect, and the check that finds it. */
export type Mutant = {
  readonly name: string;
  readonly file: string;
  readonly find: string;
  readonly replace: string;
  readonly check: "seeds" | "crashes" | "conformance";
};

export declare const mutants: readonly Mutant[];
