/**
 * Fails the build if a package that the platform exports has changed more than its version says.
 *
 * <pre>
 *   platform/&#42;/target/&#42;.jar ──bnd──▶ ApiTree ──┐
 *                                               ├── bnd's baseline ──▶ package, version found and needed
 *   tools/baseline/release.gz ─────▶ ApiTree ──┘
 * </pre>
 *
 * <p>A plugin from outside imports packages in ranges of versions, and a node takes it if the
 * ranges fit. So a version that says nothing about its package breaks plugins where nobody looks.
 * {@code release.gz} holds the packages of the last release, each with its version; there is no
 * repository of releases to take them from. A package that has changed since needs one raise of its
 * version, no more, until the next release is recorded: {@code mvn -q package -DskipTests
 * -Dpolis.baseline=record}.
 *
 * <p>What counts as a change is bnd's decision: something added needs a new minor version,
 * something removed or changed a new major one, for a {@code ProviderType} less. Members that a
 * class has from the JDK are left out, so that another JDK changes nothing.
 *
 * <p>Why not bnd's own Maven plugin? It takes the former jars from a repository, and needs one to
 * be there, also without a network. The jars are thirty times as large as what is compared.
 */
package dev.polis.baseline;
