/**
 * Runs containerd as a child process, in a sandbox that isolates it from the machine. Both outlive
 * this organ, and so do the containers.
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
 * an overlay adds the programs that the machine lacks to {@code /usr}, writes to {@code /var} and
 * {@code /etc} stay in memory, and {@code /run} is empty; so everything that programs of Kubernetes
 * leave behind there goes with the namespace, also when the machine powers off. A program that runs
 * inside enters through two links in the organ's folder, whose names never change: a command line
 * with these links is the same after a replacement of the keeper.
 *
 * <pre>
 *   keeper killed ─▶ containerd, a shim or another process still inside? ─yes─▶ a new keeper enters through it
 *                                        └─no─▶ the namespaces are gone: new ones are made
 * </pre>
 *
 * <p>Images and the layers of containers are on the data volume, or, if its file system does not
 * support overlays, in an ext4 image on it that only the sandbox mounts. If an operator gives the
 * image a size, the organ uses it on any volume, as a limit for all that containers write. The
 * organ records each part before it makes it, so any later instance can remove it.
 *
 * <p>Not promised: that a new version of the programs reaches the sandbox's {@code /usr} before the
 * next sandbox. That containers do not see the machine's processors and memory: the sandbox
 * separates files, networks and cgroups. Other sources of images than the given archives and the
 * registries that Pods name.
 *
 * <p>Why not {@code ip netns}: it mounts {@code /sys} again, which hides the cgroups. Why not
 * namespaces kept by a bound file: they would be mounts of the machine, which an operator has to
 * remove after a crash. Why not a machine of its own for each worker: a developer has one.
 *
 * <ul>
 *   <li>Needs: HandOvers, HealthRegistry, LogTree, ProcessManager, Storage, Supervisor
 *   <li>Uses if there: none
 *   <li>Provides: Containers
 *   <li>Configuration: dev.polis.containers
 *   <li>Files: data/containers
 *   <li>Ports: none
 * </ul>
 */
package dev.polis.containers;
