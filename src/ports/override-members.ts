/**
 * Overrides members of an object, such as a store.
 */

type Overrides<Target> = { readonly [Name in keyof Target]?: Target[Name] | undefined };

/**
 * Returns the same object with some members replaced. A spread would not do: the object may be a class instance, whose methods are on the
 * prototype and need `this`.
 */
export function overrideMembers<Target extends object>(target: Target, members: Overrides<Target>): Target {
  // A proxy of the object itself would not work: if the object is frozen, the proxy must return its original members.
  return new Proxy(Object.create(target) as Target, {
    get(_, name) {
      if (Object.hasOwn(members, name)) return Reflect.get(members, name);
      const member: unknown = Reflect.get(target, name);
      return typeof member === "function" ? member.bind(target) : member;
    },
  });
}
