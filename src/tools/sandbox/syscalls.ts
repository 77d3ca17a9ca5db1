/**
 * A seccomp filter for commands in the sandbox. It refuses system calls that reach what namespaces do not separate (the kernel's
 * keyrings, sockets to a hypervisor), and calls that mainly enlarge the kernel's attack surface.
 */

type Architecture = {
  /** AUDIT_ARCH_… of linux/audit.h. */
  readonly audit: number;
  /** Refused with EPERM. */
  readonly eperm: readonly number[];
  /** Refused with ENOSYS, so that programs fall back. */
  readonly enosys: readonly number[];
  readonly socket: number;
  readonly clone: number;
  readonly unshare: number;
  readonly setns: number;
};

const clone3 = 435;
const ioUring = [425, 426, 427];

const architectures: { readonly [name: string]: Architecture } = {
  x64: {
    audit: 0xc000003e,
    // add_key, request_key, keyctl, perf_event_open, bpf, userfaultfd
    eperm: [248, 249, 250, 298, 321, 323],
    enosys: ioUring,
    socket: 41,
    clone: 56,
    unshare: 272,
    setns: 308,
  },
  arm64: {
    audit: 0xc00000b7,
    eperm: [217, 218, 219, 241, 280, 282],
    enosys: ioUring,
    socket: 198,
    clone: 220,
    unshare: 97,
    setns: 268,
  },
};

/** AF_UNIX, AF_INET, AF_INET6 and AF_NETLINK (which lists interfaces). Others, such as AF_VSOCK, ignore network namespaces. */
const socketFamilies = [1, 2, 10, 16];
const newUserNamespace = 0x10000000;
const [eperm, enosys, unsupportedFamily] = [1, 38, 97];

type Instruction = readonly [code: number, ifTrue: number, ifFalse: number, value: number];

const load = (offset: number): Instruction => [0x20, 0, 0, offset];
const skipUnlessEqual = (value: number, count: number): Instruction => [0x15, 0, count, value];
const skipIfEqual = (value: number, count: number): Instruction => [0x15, count, 0, value];
const skipIfBelow = (value: number, count: number): Instruction => [0x35, 0, count, value];
const skipUnlessBits = (bits: number, count: number): Instruction => [0x45, 0, count, bits];
const allow: Instruction = [0x06, 0, 0, 0x7fff0000];
const failWith = (error: number): Instruction => [0x06, 0, 0, 0x00050000 | error];

/** Offsets in struct seccomp_data; both architectures are little-endian. */
const [callNumber, callArchitecture, firstArgument] = [0, 4, 16];

/**
 * Creates the filter in the binary form that bubblewrap reads; null for other processors.
 * @param closesNamespaces also forbids user namespaces, for a bubblewrap version that cannot (before 0.8)
 */
export function createSyscallFilter(closesNamespaces: boolean, name: string = process.arch): Buffer | null {
  const architecture = architectures[name];
  if (architecture === undefined) return null;
  const { audit, socket, clone, unshare, setns } = architecture;
  const refused = [...architecture.eperm, ...(closesNamespaces ? [setns] : [])];
  const missing = [...architecture.enosys, ...(closesNamespaces ? [clone3] : [])];
  const program: Instruction[] = [
    load(callArchitecture),
    skipIfEqual(audit, 1),
    failWith(eperm),
    load(callNumber),
    // The x32 ABI numbers the same calls differently.
    ...(name === "x64" ? [skipIfBelow(0x40000000, 1), failWith(eperm)] : []),
    ...refused.flatMap((call) => [skipUnlessEqual(call, 1), failWith(eperm)]),
    ...missing.flatMap((call) => [skipUnlessEqual(call, 1), failWith(enosys)]),
    ...(closesNamespaces ? [clone, unshare] : []).flatMap((call) => [
      skipUnlessEqual(call, 4),
      load(firstArgument),
      skipUnlessBits(newUserNamespace, 1),
      failWith(eperm),
      allow,
    ]),
    skipUnlessEqual(socket, 2 + socketFamilies.length),
    load(firstArgument),
    ...socketFamilies.map((family, at) => skipIfEqual(family, socketFamilies.length - at)),
    failWith(unsupportedFamily),
    allow,
  ];
  const bytes = Buffer.alloc(program.length * 8);
  program.forEach(([code, ifTrue, ifFalse, value], at) => {
    bytes.writeUInt16LE(code, at * 8);
    bytes.writeUInt8(ifTrue, at * 8 + 2);
    bytes.writeUInt8(ifFalse, at * 8 + 3);
    bytes.writeUInt32LE(value >>> 0, at * 8 + 4);
  });
  return bytes;
}
