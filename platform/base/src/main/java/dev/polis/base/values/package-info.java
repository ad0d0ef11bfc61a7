/**
 * Publishes the current state of one part of a node to the others.
 *
 * <p>A {@link dev.polis.base.values.Value} holds a current state (the network status, the cluster
 * status, the roles of this node). Any code may open a {@link dev.polis.base.values.Watcher} on it
 * and ask for the next state that this watcher has not seen yet.
 *
 * <pre>
 *      publisher                              watchers, each at its own pace
 *    set(a) set(b) set(c)
 *        │     │     │                      ┌── get() = a, get() = b, get() = c     (fast)
 *        ▼     ▼     ▼                      │
 *      ┌───────────────────┐   watch()      ├── get() = a, ........., get() = c     (slow: skips b)
 *      │ c   (version 3)   │ ───────────────┤
 *      └───────────────────┘                └── get() = c                           (late)
 * </pre>
 *
 * <p><b>Promised.</b> A watcher gets the current value at once, if there is one. Afterwards it gets
 * every value that is still the newest one when it asks; so it converges to the newest value
 * however slow it is, and never goes back to an older one. A get that is interrupted or times out
 * leaves the watcher usable. Waiting blocks the calling thread, which is meant to be a virtual one,
 * and interruption is the way to end a wait.
 *
 * <p><b>Not promised.</b> That a watcher sees every value: intermediate ones are skipped, so a
 * value is a state and never an event ("node joined" does not belong here, "the set of nodes"
 * does). That two equal values in a row are merged: each set is a new version. That a value can be
 * taken back: what can be absent says so in its type, for example with a sealed interface that has
 * a case for it; a reader can then tell "not known yet" from "known to be gone".
 *
 * <p><b>Why not callbacks or {@code Flow}?</b> A callback runs on the publisher's thread, under the
 * publisher's locks, and a slow one stalls it or needs a queue that grows. With a watcher, the
 * reader's own thread calls when it is ready, a loop over {@code get()} is a sequential program,
 * and a close of the watcher ends it. {@code Flow} keeps every element, which is the one thing a
 * state does not need.
 *
 * <p>{@link dev.polis.base.values.MutableValue} keeps its value in memory. Other implementations
 * follow a remote place; the contract of {@link dev.polis.base.values.Watcher} says what they have
 * to keep.
 */
@Export
@Version("2.0.0")
package dev.polis.base.values;

import org.osgi.annotation.bundle.Export;
import org.osgi.annotation.versioning.Version;
