/**
 * Runs containerd as a child process, in a sandbox that keeps it apart from the machine. Both
 * outlive this organ, and so do the containers.
 *
 * <pre>
 *                     ContainersComponent (wires)
 *                            │
 *                     ContainersService ── status, load, images
 *                            │ one ContainersRun after the other, supervised as root.containers.runtime
 *         ┌──────────────────┼───────────────────────┬──────────────────────┐
 *   RuntimePrograms     SandboxNamespaces       RuntimeProcess          ImageStore
 *    versions            child "sandbox"         child "containerd"      ctr: import, list
 *   MachineCheck         SandboxSetup            RuntimeConfiguration    PauseImage, ImageArchive
 *    AddressCheck        Cgroups, RuntimeDisk    RegistryMirrors
 *
 *   stop ─▶ SandboxRemoval: containers, containerd, shims, namespaces, device, address, cgroups
 * </pre>
 *
 * <p>The sandbox is a network and a mount namespace, which a sleeping child process keeps. Inside,
 * {@code /usr} has the programs that the machine lacks laid over it, {@code /var} and {@code /etc}
 * are written to in memory, and {@code /run} is empty; so everything that programs of Kubernetes
 * leave behind there goes with the namespace, also when the machine is switched off. A program that
 * is run inside enters through two links in the organ's folder, whose names never change: a command
 * line that holds them is the same after the keeper was replaced.
 *
 * <pre>
 *   keeper killed ─▶ containerd, a shim or another process still inside? ─yes─▶ a new keeper enters through it
 *                                        └─no─▶ the namespaces are gone: new ones are made
 * </pre>
 *
 * <p>Images and the layers of containers lie on the data volume, or, where its file system cannot
 * carry overlays, in an ext4 image on it that is mounted inside the sandbox alone. An operator who
 * gives the image a size has it anywhere, as a limit for all that containers write. What was made
 * is on record before it is made, so any later instance can remove it.
 *
 * <p>Not promised: that a new version of the programs reaches the sandbox's {@code /usr} before the
 * sandbox is made anew. That containers see less of the machine than its processors and memory: the
 * sandbox separates files, networks and cgroups. Other sources of images than the archives given
 * and the registries that Pods name.
 *
 * <p>Why not {@code ip netns}: it mounts {@code /sys} anew, which hides the cgroups. Why not
 * namespaces kept by a bound file: they would be mounts of the machine, which an operator has to
 * remove after a crash. Why not a machine of its own for each worker: a developer has one.
 *
 * <ul>
 *   <li>Needs: BootReport, HandOvers, HealthRegistry, LogTree, ProcessManager, Storage, Supervisor
 *   <li>Uses if there: none
 *   <li>Provides: Containers
 *   <li>Configuration: dev.polis.containers
 *   <li>Files: data/containers
 *   <li>Ports: none
 * </ul>
 */
package dev.polis.containers;
