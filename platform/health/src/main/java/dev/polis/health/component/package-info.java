/**
 * Offers the node's one health table as a service, and tells it which organs are missing: the part
 * that knows the framework.
 *
 * <pre>
 *   Supervisor ──────────────▶ HealthComponent ──offers──▶ HealthRegistry ◀── organs: organ("storage", …), …
 *                                    │
 *   bundles, ServiceComponentRuntime ┴──▶ OrganBundles ──▶ OrganDiagnosis
 *                                         (installed organs)   (why one is not there, down to the root)
 * </pre>
 *
 * <p>Which bundle provides which organ is said by its plugin manifest, which {@link
 * dev.polis.health.PluginDirectory} reads. An organ that has no open scope is absent. The reason is
 * looked for along the services: its component waits for a service, the bundle that declares to
 * provide it is stopped, failed, or waits itself, and so on, down to a bundle that waits for no
 * other.
 *
 * <p>Not promised: that an organ whose component is active is well; that is what its scope says.
 *
 * <p>Why read the declarations of bundles at run time, when the boot plan has them? The plan is
 * made before the framework starts and knows nothing of what was stopped or replaced since.
 */
package dev.polis.health.component;
