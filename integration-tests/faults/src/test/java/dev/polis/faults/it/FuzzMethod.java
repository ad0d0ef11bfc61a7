package dev.polis.faults.it;

import com.google.protobuf.Descriptors.Descriptor;
import com.google.protobuf.Descriptors.MethodDescriptor;
import dev.polis.wire.ext.Authorization;
import dev.polis.wire.ext.AuthorizationOuterClass;
import dev.polis.wire.ext.Permission;
import io.grpc.ServiceDescriptor;
import io.grpc.protobuf.ProtoMethodDescriptorSupplier;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.net.URI;
import java.nio.file.FileSystem;
import java.nio.file.FileSystems;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Stream;

/**
 * Holds a method of the wire format, called with bytes.
 *
 * @param call gRPC's description of the method @param request the type of its request
 * @param open whether strangers may call it, by the option in its definition
 * @param need permissions that a caller must have, by the option in its definition
 */
record FuzzMethod(
    io.grpc.MethodDescriptor<byte[], byte[]> call,
    Descriptor request,
    boolean open,
    Set<Permission> need) {

  static final Comparator<FuzzMethod> BY_NAME = Comparator.comparing(FuzzMethod::name);

  String name() {
    return call.getFullMethodName();
  }

  boolean unary() {
    return call.getType() == io.grpc.MethodDescriptor.MethodType.UNARY;
  }

  /** Returns all methods, from the generated classes, so that tests include new services. */
  static List<FuzzMethod> all() throws Exception {
    List<FuzzMethod> methods = new ArrayList<>();
    for (String type : generatedServices()) {
      ServiceDescriptor service =
          (ServiceDescriptor) Class.forName(type).getMethod("getServiceDescriptor").invoke(null);
      service.getMethods().forEach(method -> methods.add(of(method)));
    }
    methods.sort(BY_NAME);
    return methods;
  }

  /** Returns a method by its full name. */
  static FuzzMethod named(String name) throws Exception {
    return all().stream()
        .filter(each -> each.name().equals(name))
        .findFirst()
        .orElseThrow(() -> new AssertionError("there is no method " + name));
  }

  private static FuzzMethod of(io.grpc.MethodDescriptor<?, ?> method) {
    MethodDescriptor schema =
        ((ProtoMethodDescriptorSupplier) method.getSchemaDescriptor()).getMethodDescriptor();
    Authorization rule = schema.getOptions().getExtension(AuthorizationOuterClass.authorization);
    return new FuzzMethod(
        io.grpc.MethodDescriptor.newBuilder(new Bytes(), new Bytes())
            .setFullMethodName(method.getFullMethodName())
            .setType(method.getType())
            .build(),
        schema.getInputType(),
        rule.getAllowUnauthenticated(),
        Set.copyOf(rule.getNeedList()));
  }

  private static List<String> generatedServices() throws Exception {
    Path wire =
        Path.of(
            dev.polis.wire.api.ManagementGrpc.class
                .getProtectionDomain()
                .getCodeSource()
                .getLocation()
                .toURI());
    if (Files.isDirectory(wire)) {
      return generatedServices(wire);
    }
    try (FileSystem jar = FileSystems.newFileSystem(URI.create("jar:" + wire.toUri()), Map.of())) {
      return generatedServices(jar.getPath("/"));
    }
  }

  private static List<String> generatedServices(Path root) throws IOException {
    try (Stream<Path> files = Files.walk(root)) {
      return files
          .map(file -> root.relativize(file).toString())
          .filter(name -> name.endsWith("Grpc.class"))
          .map(name -> name.substring(0, name.length() - ".class".length()).replace('/', '.'))
          .toList();
    }
  }

  private static final class Bytes implements io.grpc.MethodDescriptor.Marshaller<byte[]> {
    @Override
    public InputStream stream(byte[] value) {
      return new ByteArrayInputStream(value);
    }

    @Override
    public byte[] parse(InputStream stream) {
      try {
        return stream.readAllBytes();
      } catch (IOException broken) {
        throw new UncheckedIOException("an answer could not be read", broken);
      }
    }
  }
}
