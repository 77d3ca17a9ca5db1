/**
 * What the walk of strangers' input needs of each function of a module.
 */

export type Case = (text: string) => unknown;
/** A function needs no case if it gets nothing of a stranger, or nothing but what others have bounded. */
export type NoCaseReason = string;
export type Cases<Module> = {
  readonly [Name in keyof Module as Module[Name] extends (...values: never[]) => unknown ? Name : never]:
    | Case
    | NoCaseReason;
};
