/**
 * Carries reports between the launcher and the organs: the progress of the boot, its waits, its
 * failure, and the reasons of stops.
 *
 * <pre>
 *        launcher (plain class path)                     framework
 *   ┌───────────────────────────────┐           ┌────────────────────────┐
 *   │ terminal ◀── waits, summary   │ BootReport│  storage  consensus    │
 *   │ fatal error report ◀── fatal  │◀──────────│  cluster  …            │
 *   │ signals ──▶ stop reason ──────┼──────────▶│                        │
 *   └───────────────────────────────┘           └────────────────────────┘
 * </pre>
 *
 * <p>The launcher registers one {@link dev.polis.base.boot.BootReport} before the first organ
 * starts. Organs take it as a mandatory reference. An organ that may take long opens a {@link
 * dev.polis.base.boot.Wait} under a name a person understands, says in its detail what is going on,
 * and ends it with a result. The organ that brings the node home calls {@link
 * dev.polis.base.boot.BootReport#home}. An organ that can not continue, and for which another try
 * is pointless, calls {@link dev.polis.base.boot.BootReport#fatal}, which ends the node.
 *
 * <p>The classes of this package lie on the launcher's class path and reach the bundles through the
 * system bundle, so both sides see the same ones. The bundle of this name exists for the resolver
 * of the build and for tests; a running node never installs it.
 *
 * <p>What this package does not promise: it is no health interface and no log. A wait that ended is
 * not kept, a wait says nothing about a node that is home already, and nothing here is readable
 * from outside the process. Arguments of the node do not travel here either: they are typed
 * configuration of the organ they concern, so that an organ can be configured without the launcher.
 *
 * <p>Why not framework events or log lines? The launcher would have to guess from them what is
 * being waited for. Why not a future per organ? An organ has several waits, and a wait has a detail
 * which changes while it lasts.
 */
@Export
@Version("1.2.0")
package dev.polis.base.boot;

import org.osgi.annotation.bundle.Export;
import org.osgi.annotation.versioning.Version;
