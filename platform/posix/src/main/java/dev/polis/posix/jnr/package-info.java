/**
 * The system calls by way of jnr-ffi; nobody else sees its types.
 *
 * <p>{@code LibC} declares the functions of the C library as Java methods, {@code JnrPosix} gives
 * them the types of {@code dev.polis.posix} and turns error numbers, which {@code Errno} names,
 * into exceptions with words.
 *
 * <pre>
 *   Posix ◀── JnrPosix ──▶ LibC ══ jnr-ffi ══▶ libc.so
 *                │
 *                └──▶ Errno: 16 ─▶ "EBUSY, device or resource busy"
 * </pre>
 *
 * <p>Not promised: any use from outside. The package is not exported, so that what is native can be
 * exchanged for something else without a change to those who mount and reboot.
 *
 * <p>Why not in the package of the interface: who compiles against system calls would have jnr-ffi
 * on his class path, and could come to depend on it.
 */
package dev.polis.posix.jnr;
