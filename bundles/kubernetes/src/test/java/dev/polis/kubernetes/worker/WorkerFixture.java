package dev.polis.kubernetes.worker;

import dev.polis.api.containers.ContainersStatus;
import dev.polis.api.containers.Isolation;
import dev.polis.api.containers.Sandbox;
import dev.polis.files.FolderPlacement;
import dev.polis.files.layout.Root;
import dev.polis.kubernetes.settings.AddressRange;
import dev.polis.kubernetes.settings.AuditSettings;
import dev.polis.kubernetes.settings.KubernetesAddresses;
import dev.polis.kubernetes.settings.KubernetesPrograms;
import dev.polis.kubernetes.settings.KubernetesSettings;
import dev.polis.kubernetes.settings.KubernetesVersion;
import dev.polis.pki.Ed25519;
import dev.polis.pki.NodeId;
import java.io.IOException;
import java.net.InetAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.List;

/** Makes the plan and the files of a worker in a test's directory. */
final class WorkerFixture {

  final WorkerPlan plan;
  final WorkerFiles files;
  final Path directory;

  /** Makes a worker of a node at an address, with programs of a minor release. */
  WorkerFixture(Path directory, String address, Isolation isolation, int minor) throws IOException {
    this.directory = directory;
    Path bin = Files.createDirectories(directory.resolve("programs/bin"));
    for (String program : KubernetesPrograms.ofWorker()) {
      Files.writeString(bin.resolve(program), program);
    }
    KubernetesSettings settings = settings("auto");
    this.plan =
        new WorkerPlan(
            NodeId.of(Ed25519.generate().getPublic()),
            settings,
            new KubernetesPrograms(
                directory.resolve("programs"), new KubernetesVersion(1, minor, 0)),
            KubernetesAddresses.of(InetAddress.ofLiteral(address), settings.links()),
            isolation);
    Root root = Root.at(directory.resolve("state"));
    this.files =
        new WorkerFiles(
            declared -> {
              FolderPlacement folder = root.data().organFolder(declared);
              folder.create();
              return folder;
            });
  }

  /** Lets other accounts reach the worker's files and run a program. */
  void letOthersPass(Path program) throws IOException {
    Root root = Root.at(directory.resolve("state"));
    root.letOthersPass();
    root.data().letOthersPass();
    for (Path each : List.of(directory, files.own(), program)) {
      Files.setPosixFilePermissions(each, PosixFilePermissions.fromString("rwx--x--x"));
    }
  }

  static KubernetesSettings settings(String isolation) {
    return new KubernetesSettings(
        6444,
        "",
        6443,
        6445,
        AddressRange.of("10.244.0.0/16"),
        AddressRange.of("10.96.0.0/16"),
        "cluster.local",
        AddressRange.of("198.18.0.0/15"),
        isolation,
        AuditSettings.STANDARD);
  }

  /** Returns a runtime that serves. */
  ContainersStatus.Running runtime() {
    boolean namespaces = plan.isolation() == Isolation.NAMESPACES;
    Sandbox sandbox =
        new Sandbox(
            plan.sandbox(files),
            namespaces ? List.of("/usr/bin/nsenter", "--net=/n") : List.of(),
            namespaces ? "veth0" : "",
            Path.of("/polis-p1"),
            "/p/bin:/usr/bin");
    return new ContainersStatus.Running(sandbox, Path.of("/run/c/c.sock"), "containerd 2.4.2");
  }
}
