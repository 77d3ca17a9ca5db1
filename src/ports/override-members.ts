/**
 * Replaces members of an object, such as a store.
 */

type Overrides<Target> = { readonly [Name in keyof Target]?: Target[Name] | undefined };

/**
 * The same object with other members. The object may be an instance of a class, whose methods need `this`, so a spread would not do: it drops
 * what a class has on its prototype.
 */
export function overrideMembers<Target extends object>(target: Target, members: Overrides<Target>): Target {
  // Not the object itself: a proxy of a frozen object cannot return other members.
  return new Proxy(Object.create(target) as Target, {
    get(_, name) {
      if (Object.hasOwn(members, name)) return Reflect.get(members, name);
      const member: unknown = Reflect.get(target, name);
      return typeof member === "function" ? member.bind(target) : member;
    },
  });
}
