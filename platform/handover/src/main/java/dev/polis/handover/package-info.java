/**
 * Lets a second instance of an organ continue where the first one is.
 *
 * <pre>
 *   first instance                       HandOvers                        second instance
 *   (OrganInstance, in charge)              │                             (being activated)
 *        │                                  │◀── join("curator", starter) ──────┤
 *        │◀───────────── facts() ───────────┤◀─────── predecessor.facts() ──────┤  prepares: its endpoints
 *        │                                  │                                   │  take the new calls
 *        │◀───────────── give() ────────────┤◀─────── predecessor.take() ───────┤
 *        ├─ drains, stops deciding ── state ▶ ───────────── state ─────────────▶│
 *        ┊ (given away: leaves all alone)   │                                   │  decides from now on
 *        │                                  │◀─────────── started ──────────────┤
 *        ├── leave(close) ─────────────────▶│  the hand-over is final           │
 *        ×                                                                      ▼
 *
 *   If the second one throws while it starts, or leaves before the first one has:
 *        │◀──── prepare(), resume(state) ───┤◀── throws, or leave(): give() ─────┤
 *        ▼  decides again                                                       ×
 * </pre>
 *
 * <p>Only the instance that has the state decides: one instance at a time takes part in an
 * election, writes a file or maintains a process. An instance that gave its state away stays able
 * to take it back until it leaves, and touches nothing meanwhile.
 *
 * <p>From the moment the first instance is asked for its state until the second one is active,
 * neither decides. A {@link dev.polis.handover.HandOverListener} learns of that, so that calls wait
 * instead of being refused: {@code dev.polis.handover.following} does so for the contracts that it
 * follows.
 *
 * <p>A hand-over is final when the first instance leaves, which is when its bundle is stopped.
 * Until then the first one continues if the second one ends for any reason.
 *
 * <p>A component may fail after its instance has joined; Declarative Services do not deactivate it
 * then. Its instance leaves when its bundle stops, which in a swap is at once, or when the same
 * bundle joins again. A call that this version has begun may then fail as one to be repeated.
 *
 * <p>State is a set of named values of platform types or of the JDK. Two versions of an organ see
 * the same class of such a value, and no class of the version that goes is kept: a value whose
 * class has the loader of the organ is refused, also within collections, arrays, optionals and
 * records. An unknown name is left out by the reader, a missing one is empty: versions with more or
 * with less state understand each other.
 *
 * <p>Deadlines: a predecessor has {@link dev.polis.handover.HandOvers#PATIENCE} to drain. If it
 * takes longer or throws, it continues, and the second instance fails to start with a {@link
 * dev.polis.handover.HandOverException} that says so. A state that comes later all the same goes
 * back to the instance it came from, or is closed if that one has left. A second instance that has
 * not started after {@link dev.polis.handover.SwapDeadline#START} loses the state, and is asked to
 * give what it has when it starts all the same: an instance in a loop keeps no organ from working.
 * If the first instance leaves by itself before it is asked, there is no predecessor, and the
 * second one begins as if it were alone.
 *
 * <p>No lock of this package is held while an instance is called, and instances are called on
 * threads of their own. So a hand-over may happen while Declarative Services activate or deactivate
 * a component.
 *
 * <p>Not promised: a hand-over between processes; there the records on the disk serve. Nor between
 * an instance that ends first and one that begins later: then no instance would renew a lease
 * meanwhile.
 *
 * <p>Why not a class of its own for the state of each organ: each field that a version adds would
 * need a new platform, and so a new process.
 */
@Export
@Version("2.0.0")
package dev.polis.handover;

import org.osgi.annotation.bundle.Export;
import org.osgi.annotation.versioning.Version;
