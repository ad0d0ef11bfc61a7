package dev.polis.rpc;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;

import com.google.protobuf.Message;
import dev.polis.pki.CertificateAuthority;
import dev.polis.pki.CertificateTemplate;
import dev.polis.pki.Ed25519;
import dev.polis.pki.NodeId;
import dev.polis.pki.TlsIdentity;
import dev.polis.wire.curator.CuratorGrpc;
import io.grpc.CallOptions;
import io.grpc.ClientCall;
import io.grpc.ManagedChannel;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import io.grpc.ServiceDescriptor;
import io.grpc.Status;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URI;
import java.net.URISyntaxException;
import java.nio.file.FileSystem;
import java.nio.file.FileSystems;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyPair;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * Calls every method of the wire format over TLS as every kind of caller, and compares the answers
 * with a table beside this test. After a new method or a changed rule, it fails until the table has
 * all cells. {@code -Dpolis.authorization.write=true} writes the table anew.
 */
class AuthorizationMatrixTest {
  private static final String TABLE = "authorization-matrix.txt";

  private static final Path FILE = Path.of("src/test/resources/dev/polis/rpc", TABLE);

  @Test
  @Tag("attack")
  @DisplayName("every method treats every kind of caller as the table states")
  void everyMethodDecidesAboutEveryCaller() throws Exception {
    try (RpcFixture fixture = new RpcFixture()) {
      List<ServiceDescriptor> services = services();
      services.forEach(
          service -> fixture.host.serve(RpcHost.CURATOR, RpcFixture.reaching(service)));
      Map<String, ManagedChannel> callers = callers(fixture);

      List<String> found = new ArrayList<>();
      for (ServiceDescriptor service : services) {
        for (MethodDescriptor<?, ?> method : service.getMethods()) {
          found.add(row(method, callers));
        }
      }
      found.sort(null);

      if (Boolean.getBoolean("polis.authorization.write")) {
        write(found);
      }
      assertEquals(
          String.join("\n", table()),
          String.join("\n", found),
          TABLE
              + " states another decision; decide for each caller, and write it with ./polis test"
              + " -pl platform/rpc -Dtest=AuthorizationMatrixTest -Dpolis.authorization.write=true");
    }
  }

  private static void write(List<String> found) throws IOException {
    List<String> lines = new ArrayList<>();
    Files.readAllLines(FILE).stream().filter(line -> line.startsWith("#")).forEach(lines::add);
    lines.addAll(found);
    Files.write(FILE, lines);
  }

  private static Map<String, ManagedChannel> callers(RpcFixture fixture) {
    TlsIdentity revoked = fixture.node();
    fixture.revoke(revoked);
    KeyPair stranger = Ed25519.generate();
    KeyPair foreignKey = Ed25519.generate();
    CertificateAuthority foreign = CertificateAuthority.create("Another cluster");
    Map<String, ManagedChannel> callers = new LinkedHashMap<>();
    callers.put("none", fixture.channel(RpcClients.anonymous(fixture.trust())));
    callers.put("self-signed", fixture.channel(RpcClients.ephemeral(stranger, fixture.trust())));
    callers.put(
        "foreign",
        fixture.as(
            TlsIdentity.of(foreignKey.getPrivate(), foreign.issueNode(foreignKey.getPublic()))));
    callers.put("node", fixture.as(fixture.credentials.tls()));
    callers.put("other-node", fixture.as(fixture.node()));
    callers.put("viewer", fixture.as(fixture.user("reader", RpcRole.VIEWER)));
    callers.put("operator", fixture.as(fixture.user("worker", RpcRole.OPERATOR)));
    callers.put("owner", fixture.asOwner());
    callers.put("removed", fixture.as(fixture.certificate("former")));
    callers.put("revoked", fixture.as(revoked));
    callers.put("expired", fixture.as(expired(fixture.ca)));
    return callers;
  }

  /** Returns a node whose certificate was issued ten days ago, for one day. */
  private static TlsIdentity expired(CertificateAuthority ca) {
    InstantSource then = InstantSource.fixed(Instant.now().minus(Duration.ofDays(10)));
    KeyPair pair = Ed25519.generate();
    CertificateTemplate day =
        CertificateTemplate.node(NodeId.of(pair.getPublic())).withLifetime(Duration.ofDays(1));
    return TlsIdentity.of(
        pair.getPrivate(),
        new CertificateAuthority(ca.privateKey(), ca.certificate(), then)
            .issue(day, pair.getPublic()));
  }

  private static String row(MethodDescriptor<?, ?> method, Map<String, ManagedChannel> callers)
      throws Exception {
    StringBuilder row = new StringBuilder(method.getFullMethodName());
    for (Map.Entry<String, ManagedChannel> caller : callers.entrySet()) {
      Status status = call(caller.getValue(), RpcFixture.typed(method));
      row.append(' ').append(caller.getKey()).append('=').append(cell(status));
    }
    return row.toString();
  }

  private static String cell(Status status) {
    return switch (status.getCode()) {
      case ALREADY_EXISTS -> "yes";
      case UNAUTHENTICATED -> "who?";
      case PERMISSION_DENIED -> "no";
      default -> status.toString();
    };
  }

  static Status call(ManagedChannel channel, MethodDescriptor<Message, Message> method)
      throws Exception {
    CompletableFuture<Status> ended = new CompletableFuture<>();
    ClientCall<Message, Message> call = channel.newCall(method, CallOptions.DEFAULT);
    call.start(
        new ClientCall.Listener<>() {
          @Override
          public void onClose(Status status, Metadata trailers) {
            ended.complete(status);
          }
        },
        new Metadata());
    call.request(1);
    call.halfClose();
    return ended.get(RpcFixture.PATIENCE.toSeconds(), TimeUnit.SECONDS);
  }

  private static List<String> table() throws IOException {
    return Files.readAllLines(FILE).stream()
        .filter(line -> !line.isBlank() && !line.startsWith("#"))
        .toList();
  }

  /** Returns all services of the wire format, from its own archive, so that none is missing. */
  static List<ServiceDescriptor> services() throws IOException, URISyntaxException {
    URI location = CuratorGrpc.class.getProtectionDomain().getCodeSource().getLocation().toURI();
    Path archive = Path.of(location);
    List<ServiceDescriptor> services;
    if (Files.isDirectory(archive)) {
      services = services(archive);
    } else {
      try (FileSystem jar = FileSystems.newFileSystem(archive)) {
        services = services(jar.getPath("/"));
      }
    }
    assertFalse(services.isEmpty(), "no generated service found in " + archive);
    return services;
  }

  private static List<ServiceDescriptor> services(Path root) {
    try (Stream<Path> files = Files.walk(root)) {
      return files
          .map(file -> root.relativize(file).toString())
          .filter(name -> name.endsWith("Grpc.class"))
          .map(name -> name.substring(0, name.length() - ".class".length()).replace('/', '.'))
          .sorted()
          .map(AuthorizationMatrixTest::descriptor)
          .toList();
    } catch (IOException e) {
      throw new UncheckedIOException("cannot read " + root, e);
    }
  }

  private static ServiceDescriptor descriptor(String generated) {
    try {
      return (ServiceDescriptor)
          Class.forName(generated).getMethod("getServiceDescriptor").invoke(null);
    } catch (ReflectiveOperationException e) {
      throw new AssertionError(generated + " is no generated service", e);
    }
  }
}
