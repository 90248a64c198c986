apiVersion: v1
kind: ConfigMap
metadata:
  name: {{ .Release.Name }}
  labels: { app: {{ .Release.Name }} }
data:
  GATEWAY_HOST: 0.0.0.0
  PORT: "8080"
  PUBLIC_URL: {{ .Values.publicUrl | default (printf "http://%s" .Release.Name) | quote }}
  PROXIES: {{ .Values.proxies | quote }}
