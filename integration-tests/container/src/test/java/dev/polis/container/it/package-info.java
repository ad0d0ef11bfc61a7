/**
 * Tests that run inside the framework, as a bundle among the bundles of the distribution.
 *
 * <pre>
 *        Surefire's JVM, one for each class
 *  ┌───────────────────────────────────────────────────────────────────────┐
 *  │ JUnit ──▶ ContainerExtension ──▶ Container                            │
 *  │              "run this method"      │ Pax Exam, native container      │
 *  │ ┌─ Felix ───────────────────────────▼─────────────────────────────┐   │
 *  │ │  the probe: this package, made into a bundle                    │   │
 *  │ │     ProbeActivator ──▶ ProbeMethod ──▶ the test                 │   │
 *  │ │                                          │ services, bundles    │   │
 *  │ │  dev.polis.storage … dev.polis.rpc … ◀───┘                      │   │
 *  │ │  the files of launcher/dist, where they lie                     │   │
 *  │ └─────────────────────────────────────────────────────────────────┘   │
 *  └───────────────────────────────────────────────────────────────────────┘
 * </pre>
 *
 * <p>Unit tests see all classes at once. Here each bundle sees what its manifest says, so these
 * tests find what those cannot: an import that is missing, a component that waits for ever, an
 * organ that holds on to another, a loader that outlives its bundle. What a node looks like from
 * outside, with a process and a terminal of its own, is tested beside this, in {@code
 * integration-tests/cluster}.
 *
 * <p>Every class here exists twice: outside, where JUnit finds it, and inside, where it runs.
 * {@link dev.polis.container.it.ContainerTest} says what follows from that. Pax Exam has no driver
 * for this JUnit, so the extension is ours; and of Pax Exam only the container is used, which
 * starts the framework and finds the methods. Its own extender and injector are left out, and with
 * them their bundles, a look into a Maven repository while tests run, and a second SLF4J that would
 * hide the one under test. The probe gets the assertions from the system bundle, so a failure
 * inside is a failure outside.
 *
 * <p>Not promised: that the framework is started as the launcher does it. The order of the start is
 * that of the tests, and the platform is installed as bundles. The launcher's own tests are about
 * that.
 *
 * <p>Why not the forked container? The JVM is Surefire's own and serves one class, so one more
 * would only add a way to lose its output. Why not a framework put up by hand? Almost; what is left
 * of Pax Exam is the making of the probe and a call that waits for it.
 */
package dev.polis.container.it;
