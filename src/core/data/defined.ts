/**
 * Drops undefined members, so that an optional key is absent instead of undefined:
 * `{ id, ...defined({ title, root }) }`.
 *
 * The loop over the keys has a cost. Code that runs for each step or delta uses `...(x === undefined ? {} : { x })` instead.
 */
export function defined<Members extends object>(members: Members): Defined<Members> {
  const present: { [key: string]: unknown } = {};
  for (const [key, value] of Object.entries(members)) if (value !== undefined) present[key] = value;
  return present as Defined<Members>;
}

/** The same members. Members that may be undefined become optional, and `undefined` is removed from their types. */
export type Defined<Members> = {
  [Key in keyof Members as undefined extends Members[Key] ? Key : never]?: Exclude<Members[Key], undefined>;
} & {
  [Key in keyof Members as undefined extends Members[Key] ? never : Key]: Members[Key];
};
