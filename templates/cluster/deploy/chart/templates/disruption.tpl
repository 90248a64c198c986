# Nodes are drained one gateway at a time.
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata:
  name: {{ .Release.Name }}
  labels: { app: {{ .Release.Name }} }
spec:
  maxUnavailable: 1
  selector:
    matchLabels: { app: {{ .Release.Name }} }
